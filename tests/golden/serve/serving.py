"""A `glinfer serve` for tests: starts it, asks it, ends it. Python's standard library alone."""
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time


def same(found, wanted, what=""):
    if found != wanted:
        raise AssertionError(f"{what}: found {found!r}, wanted {wanted!r}")


def true(found, what=""):
    if not found:
        raise AssertionError(f"{what}: found {found!r}")


def unique(pairs):
    """Returns an object of JSON, whose names have to differ."""
    same(len(dict(pairs)), len(pairs), f"names of {pairs}")
    return dict(pairs)


class Server:
    """Runs `glinfer serve -m model flags` on a free port."""

    def __init__(self, glinfer, model, *flags, ready=True, env=None):
        self.lines = []
        self.process = subprocess.Popen(
            [glinfer, "serve", *(["-m", model] if model else []), "--port", "0", *flags], stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL, text=True, env={**os.environ, **(env or {})})
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        found = self.wait_for(r"listening on (?:http://([^ ]+):(\d+)|(/.*))")
        self.host, self.port, self.path = found.group(1), int(found.group(2) or 0), found.group(3)
        if ready:  # after kernels are compiled, which takes long where much else runs
            self.wait_for("ready: ", seconds=240)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def wait_for(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in list(self.lines):
                found = re.search(pattern, line)
                if found:
                    return found
            if self.process.poll() is not None and not self.reader.is_alive():
                break
            time.sleep(0.01)
        raise RuntimeError(f"no line with {pattern!r}: {self.lines}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, number=signal.SIGTERM, seconds=30):
        """Returns the exit status after a signal."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def socket(self, seconds=30):
        if self.path:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(seconds)
            connection.connect(self.path)
            return connection
        return socket.create_connection((self.host, self.port), seconds)

    def connect(self, seconds=60):
        connection = http.client.HTTPConnection(self.host or "localhost", self.port or 80, timeout=seconds)
        connection.sock = self.socket(seconds)
        return connection

    def request(self, method, path, body=None, headers=None, seconds=60):
        """Returns status, headers and body (JSON where it is that)."""
        connection = self.connect(seconds)
        data = json.dumps(body) if isinstance(body, (dict, list)) else body
        connection.request(method, path, data, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if "json" in answer.getheader("Content-Type", ""):
            return answer.status, answer.headers, json.loads(text, object_pairs_hook=unique)
        return answer.status, answer.headers, text.decode()

    def get(self, path, **headers):
        return self.request("GET", path, None, headers)

    def post(self, path, body, **headers):
        return self.request("POST", path, body, headers)

    def ask(self, path, **body):
        """Returns the JSON of an answer that has to come."""
        status, _, answer = self.post(path, body)
        if status != 200:
            raise RuntimeError(f"{path}: {status} {answer}")
        return answer

    def stream(self, path, **body):
        """Yields the events of a stream, and "[DONE]" as it is."""
        connection = self.connect()
        connection.request("POST", path, json.dumps({**body, "stream": True}))
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {answer.read()}")
        for line in answer:
            line = line.decode().rstrip("\n")
            if line.startswith("data: "):
                yield "[DONE]" if line == "data: [DONE]" else json.loads(line[6:])
        connection.close()

    def slots(self):
        return self.get("/slots")[2]

    def wait_idle(self, seconds=20):
        """Waits until no slot is busy; returns how long that took."""
        begin = time.monotonic()
        while any(slot["is_processing"] for slot in self.slots()):
            if time.monotonic() - begin > seconds:
                raise RuntimeError("a slot stays busy")
            time.sleep(0.02)
        return time.monotonic() - begin


SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of GGUF's scalar types
STRING, ARRAY = 8, 9


def write_with_template(model, template, path, n_tokens=None):
    """Writes a copy of a GGUF file (version 3, aligned to 32 bytes) with another chat template (None: its own), and the first
    n_tokens of its vocabulary."""
    with open(model, "rb") as file:
        data = file.read()
    at = 24
    n_tensors, n_pairs = struct.unpack_from("<QQ", data, 8)

    def skip_string(at):
        return at + 8 + struct.unpack_from("<Q", data, at)[0]

    def skip_value(at, kind):
        if kind == STRING:
            return skip_string(at)
        if kind != ARRAY:
            return at + SIZES[kind]
        kind, n = struct.unpack_from("<IQ", data, at)
        at += 12
        if kind != STRING:
            return at + n * SIZES[kind]
        for _ in range(n):
            at = skip_string(at)
        return at

    head = data[:at]
    for _ in range(n_pairs):
        begin = at
        at = skip_string(at)
        name = data[begin + 8:at]
        kind, = struct.unpack_from("<I", data, at)
        value = at + 4
        at = skip_value(value, kind)
        if n_tokens and name in (b"tokenizer.ggml.tokens", b"tokenizer.ggml.token_type", b"tokenizer.ggml.scores"):
            item_kind, = struct.unpack_from("<I", data, value)
            end = value + 12
            for _ in range(n_tokens):
                end = skip_value(end, item_kind)
            head += data[begin:value] + struct.pack("<IQ", item_kind, n_tokens) + data[value + 12:end]
        elif template is not None and name == b"tokenizer.chat_template":
            text = template.encode()
            head += data[begin:value] + struct.pack("<Q", len(text)) + text
        else:
            head += data[begin:at]
    begin = at
    for _ in range(n_tensors):
        at = skip_string(at)
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 4 + 8
    head += data[begin:at]
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data[at + -at % 32:])


def start_or_skip(*args):
    """Returns a Server; ends the test where there is nothing to serve with."""
    try:
        return Server(*args)
    except RuntimeError as problem:
        print(problem)
        sys.exit(77 if "no usable GPU" in str(problem) or "without libmicrohttpd" in str(problem) else 1)


def try_out(test, *args):
    """Runs one test and prints what became of it; returns True if it succeeded."""
    begin = time.monotonic()
    try:
        test(*args)
        print(f"ok {test.__name__} {time.monotonic() - begin:.2f} s", flush=True)
        return True
    except Exception as problem:  # the next test may tell more
        print(f"FAIL {test.__name__}: {type(problem).__name__}: {problem}", flush=True)
        return False
