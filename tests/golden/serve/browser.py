"""A browser for tests: Debian's chromium without a window, told what to do over a pipe. Python's standard library alone."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "Home": 36}


def find_browser():
    """Returns the program, None if there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page. What it asks for is in .requests, what it complains about in .complaints. Its microphone, which it may use without
    asking, hears a WAV file."""

    def __init__(self, width=1280, height=800, sound=None):
        self.sound = sound
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.requests, self.complaints = [], []
        self.last, self.answers, self.rest, self.session = 0, {}, b"", None
        self._start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def _start(self):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def take_pipes():  # the browser reads from 3 and writes to 4
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [find_browser(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "--no-sandbox",
             "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage",
             "--disable-component-update", "--force-color-profile=srgb", "--hide-scrollbars",
             *(("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
                f"--use-file-for-fake-audio-capture={self.sound}") if self.sound else ())],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=take_pipes)
        os.close(to_browser)
        os.close(from_browser)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.output)  # the browser ends with its pipe
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.input)
        self.folder.cleanup()

    #-- the protocol --------------------------------------------------------------------------------------------------

    def _take(self, message):
        params = message.get("params", {})
        if "id" in message:
            self.answers[message["id"]] = message
        elif message["method"] == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif message["method"] == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif message["method"] == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))

    def _read(self, seconds):
        if select.select([self.input], [], [], seconds)[0]:
            data = os.read(self.input, 1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            *messages, self.rest = (self.rest + data).split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def call(self, method, seconds=30, **params):
        """Returns what a command of the DevTools protocol answers."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        end = time.monotonic() + seconds
        while self.last not in self.answers:
            self._read(1)
            if time.monotonic() > end:
                raise RuntimeError(f"{method} is not answered")
        answer = self.answers.pop(self.last)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    #-- the page ------------------------------------------------------------------------------------------------------

    def run(self, code):
        """Returns the value of an expression in the page, True for an element."""
        answer = self.call("Runtime.evaluate", expression=f"(async () => {{ const v = await ({code}); return v instanceof Node || v; }})()",
                           returnByValue=True, awaitPromise=True, allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{code}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def wait(self, code, seconds=30):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(code)
            if value:
                return value
            time.sleep(0.03)
        raise RuntimeError(f"never true: {code}; the page has: {self.run('document.body.innerText')[-2000:]!r}")

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait(f"location.href === {json.dumps(address)} && document.readyState === 'complete'")

    def reload(self):
        self.run("window.isOld = true")
        self.call("Page.reload")
        self.wait("!window.isOld && document.readyState === 'complete'")

    def resize(self, width, height, is_phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if is_phone else 1,
                  mobile=is_phone)

    def prefer(self, **features):
        """Sets media features: prefer(color_scheme="dark")."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()])

    def key(self, name, modifiers=0):
        """Presses a key; modifiers: 2 is Ctrl, 8 is Shift."""
        event = {"key": name, "code": name, "windowsVirtualKeyCode": KEYS.get(name, 0), "modifiers": modifiers}
        text = {"text": "\r"} if name == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        """Types into what has the focus."""
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """Clicks on the middle of an element, as the pointer does."""
        x, y = self.wait(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element?.scrollIntoView({{block: "nearest"}});
            const box = element?.getBoundingClientRect();
            return box?.width > 0 && [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        event = {"x": x, "y": y, "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.call("Input.dispatchMouseEvent", type="mousePressed", **event)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", **event)

    def controls(self):
        """Returns [(role, name)] of what a screen reader can act on."""
        roles = {"button", "textbox", "link", "spinbutton", "combobox", "checkbox", "menuitem", "DisclosureTriangle", "searchbox"}
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes
                if not node.get("ignored") and node.get("role", {}).get("value") in roles]

    def shoot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
