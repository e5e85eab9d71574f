#!/usr/bin/env python3
"""Several models in one `glinfer serve`, and servers that fall asleep, over real sockets.

    router_test.py GLINFER MODEL [NAME...]

MODEL is tests/data/models/tiny-chat.gguf. Names choose tests. Status 77: no device available.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import hub
from serving import Server, same, start_or_skip, true, try_out

GLINFER, MODEL = sys.argv[1:3]
HI = [{"role": "user", "content": "hi there"}]
# An answer of these takes seconds: no end of text ends it.
LONG = {"prompt": "Once upon a time", "n_predict": 400, "ignore_eos": True, "temperature": 0, "n_cmpl": 8}


class Router(Server):
    """Serves a folder with copies of MODEL and what else is put there."""

    def __init__(self, names, *flags, presets=None, env=None):
        self.folder = tempfile.TemporaryDirectory()
        self.models = self.folder.name + "/models"
        os.makedirs(self.models)
        for name in names:
            shutil.copy(MODEL, f"{self.models}/{name}.gguf")
        if presets is not None:
            self.write_presets(presets)
            flags = (*flags, "--models-preset", self.folder.name + "/presets.ini")
        super().__init__(GLINFER, None, "--models-dir", self.models, *flags, env=env)

    def write_presets(self, text):
        with open(self.folder.name + "/presets.ini", "w") as file:
            file.write(text.replace("MODELS", self.models))

    def states(self):
        return {model["id"]: model["status"]["value"] for model in self.get("/models")[2]["data"]}

    def wait_state(self, name, state, seconds=20):
        end = time.monotonic() + seconds
        while self.states()[name] != state:
            true(time.monotonic() < end, f"{name} is {self.states()[name]}, not {state}")
            time.sleep(0.02)

    def complete(self, model, **fields):
        return self.post("/completion", {"model": model, "prompt": "Hello", "n_predict": 4, **fields})

    def end(self, *args, **named):
        status = super().end(*args, **named)
        self.folder.cleanup()
        return status


def lists_and_loads_on_demand():
    with Router(["a", "b"], "--models-max", "1") as server:
        os.makedirs(server.models + "/c")
        shutil.copy(MODEL, server.models + "/c/c-00001-of-00002.gguf")
        open(server.models + "/c/mmproj-c.gguf", "w").close()
        shutil.copy(os.path.dirname(MODEL) + "/tiny-bert.gguf", server.models)
        shutil.copy(os.path.dirname(MODEL) + "/tiny-whisper_f16.bin", server.models)
        open(server.models + "/broken.gguf", "w").close()
        shutil.copy(MODEL, server.models + "/Big-00002-of-00003.gguf")
        models = server.get("/models?reload=1")[2]["data"]
        ours = [model for model in models if model.get("path", "").startswith(server.models)]
        same([model["id"] for model in ours], ["a", "b", "c", "tiny-bert", "tiny-whisper_f16"], "the models")
        same({model["status"]["value"] for model in ours}, {"unloaded"}, "states")
        same(ours[0]["meta"]["n_embd"], 32, "known without loading it")
        same(ours[4]["architecture"]["input_modalities"], ["audio"], "a speech model")
        tags = [model["name"] for model in server.get("/api/tags")[2]["models"]]
        true({"a", "b", "c"} <= set(tags) and "tiny-whisper_f16" not in tags, tags)
        same(server.get("/api/ps")[2]["models"], [], "none is loaded")
        props = server.get("/props")[2]
        same((props["role"], props["max_instances"], props["models_autoload"]), ("router", 1, True), "props")
        same(server.get("/v1/models/b")[2]["status"]["value"], "unloaded", "one, which is not loaded for it")
        same(server.ask("/api/show", model="b:latest")["details"]["family"], "llama", "shown without loading it")
        same(server.complete("a")[0], 200, "a")
        same(server.get("/api/ps")[2]["models"][0]["name"], "a", "loaded")
        answer = server.ask("/v1/chat/completions", model="b", messages=HI, max_tokens=3)
        same((answer["model"], server.states()["a"], server.states()["b"]), ("b", "unloaded", "loaded"), "the other left")
        same(server.ask("/api/chat", model="a:latest", messages=HI, stream=False, options={"num_predict": 2})["done"], True, "Ollama")
        same(server.get("/props?model=a")[2]["total_slots"], 1, "props of one")
        same(len(server.ask("/v1/embeddings", model="tiny-bert", input="x")["data"]), 1, "embeddings")
        same(server.get("/health")[2], {"status": "ok"}, "health")


def refuses_in_a_sentence():
    with Router(["a", "b"], "--no-models-autoload") as server:
        shutil.copy(os.path.dirname(MODEL) + "/tiny-whisper_f16.bin", server.models)
        open(server.models + "/c.gguf", "w", encoding="utf-8").close()  # is left out, with a warning
        server.get("/models?reload=1")
        for path, body, status, part in [
                ("/completion", {"model": "c", "prompt": "a"}, 404, "unknown model c"),
                ("/v1/chat/completions", {"messages": HI}, 400, 'missing "model"'), ("/completion", {"model": "x", "prompt": "a"}, 404, "unknown model x"),
                ("/completion", "{", 400, "invalid JSON"), ("/completion?model=a", "[]", 400, "a is not loaded"),
                ("/lora-adapters", "[]", 400, 'missing "model"'), ("/models/load", {}, 400, 'missing "model"'),
                ("/models/load", {"model": "x"}, 404, "unknown model x"), ("/completion", {"model": "a", "prompt": "a"}, 400, "a is not loaded"),
                ("/completion", {"model": "tiny-whisper_f16", "prompt": "a"}, 400, "is a speech model"), ("/nothing", {}, 404, "unknown path"),
                ("/props", {}, 405, "takes GET")]:
            found, _, answer = server.post(path, body)
            true(found == status and part in answer["error"]["message"], f"{path} {body}: {found} {answer}")
        for body, status, text in [({"messages": HI}, 400, "model is required"), ({"model": "x", "messages": HI}, 404, "model 'x' not found")]:
            same(server.post("/api/chat", body)[::2], (status, {"error": text}), body)
        same(server.get("/slots")[0], 400, "slots of none")
        same(server.post("/models/load", {"model": "a"})[2], {"success": True}, "load")
        server.wait_state("a", "loaded")
        same(server.complete("a")[0], 200, "it is loaded")
        same(server.complete("b")[0], 400, "another is not")
        same(server.post("/completion?autoload=true", {"model": "b", "prompt": "a", "n_predict": 1})[0], 200, "unless asked for")
        same(server.post("/models/unload", {"model": "a"})[2], {"success": True}, "unload")
        server.wait_state("a", "unloaded")
        os.remove(server.models + "/a.gguf")
        status, _, answer = server.post("/completion?autoload=1", {"model": "a", "prompt": "x"})
        true(status == 500 and "cannot load a: " in answer["error"]["message"], answer)
        status = next(model["status"] for model in server.get("/models")[2]["data"] if model["id"] == "a")
        same(status, {"value": "unloaded", "failed": True, "exit_code": 1}, "it has failed")
        same([name for name in server.states() if name in "ab"], ["a", "b"], "listed")
        server.get("/models?reload=1")
        same([name for name in server.states() if name in "ab"], ["b"], "gone")


def waits_for_its_turn():
    with Router(["a", "b"], "--models-max", "1", "--sse-ping-interval", "1") as server, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        server.complete("a")
        longs = [pool.submit(server.post, "/completion", {**LONG, "model": "a"}) for _ in range(3)]  # more than a second
        time.sleep(0.3)
        connection = server.connect()
        connection.request("POST", "/completion", json.dumps({"model": "b", "prompt": "x", "n_predict": 2, "stream": True}))
        begin = time.monotonic()
        same((server.get("/health")[0], server.states()["a"], server.states()["b"]), (200, "loaded", "unloaded"), "meanwhile")
        true(time.monotonic() - begin < 1, "others are answered")
        text = connection.getresponse().read().decode()
        true(text.startswith(":\n\n") and '"stop":true' in text, f"pings, then the answer: {text}")
        same([long.result()[0] for long in longs], [200] * 3, "those before were not disturbed")
        longs = [pool.submit(server.post, "/completion", {**LONG, "model": "b"}) for _ in range(3)]
        time.sleep(0.3)
        connection = server.connect()
        connection.request("POST", "/completion", json.dumps({"model": "a", "prompt": "x"}))
        time.sleep(0.2)
        connection.close()
        same([long.result()[0] for long in longs], [200] * 3, "answered")
        time.sleep(0.5)
        same((server.states()["a"], server.states()["b"]), ("unloaded", "loaded"), "nobody waits for the other")


def cuts_answers_of_a_model_to_be_unloaded():
    with Router(["a"], presets="[a]\nstop-timeout = 0\n") as server, concurrent.futures.ThreadPoolExecutor() as pool:
        server.complete("a")
        long = pool.submit(server.post, "/completion", {**LONG, "model": "a"})
        time.sleep(0.3)
        same(server.post("/models/unload", {"model": "a"})[0], 200, "unload")
        status, _, answer = long.result()
        true(status >= 400 and "the model was unloaded" in answer["error"]["message"], answer)
        server.wait_state("a", "unloaded")
        same(server.complete("a")[0], 200, "it is loaded again")


def reads_presets():
    presets = """version = 1
; of all
[*]
c = 64
n-gpu-layers = 99
[a]
temp = 0
LLAMA_ARG_N_PREDICT = 3
alias = first,other
load-on-startup = true
[new]
model = MODELS/b.gguf
dedup-cache-models = 1
np = 2
"""
    with Router(["a", "b"], "-n", "5", presets=presets) as server:
        same([name for name in server.states() if name in ("a", "b", "new")], ["a", "new"], "b is hidden")
        server.wait_state("a", "loaded")
        same(server.get("/props?model=first")[2]["default_generation_settings"]["n_ctx"], 64, "of all models")
        answer = server.post("/completion", {"model": "other", "prompt": "x", "ignore_eos": True})[2]
        same(answer["tokens_predicted"], 5, "the command line comes first")
        same(len(server.get("/slots?model=new")[2]), 2, "slots")
        server.write_presets("[new]\nmodel = MODELS/b.gguf\nc = x\n")
        true("line 3: invalid -c \"x\"" in server.get("/models?reload=1")[2]["error"]["message"], "a wrong value")
        same(server.complete("new")[0], 200, "nothing has changed")
        server.write_presets("[new]\nmodel = MODELS/b.gguf\n")
        server.get("/models?reload=1")
        same(len(server.get("/slots?model=new")[2]), 1, "it was loaded again")


def refuses_wrong_presets():
    for text, part in [
            ("[a]\nctx-sice = 5\n", "line 2: unknown flag --ctx-sice; is it --ctx-size?"), ("[a]\nport = 5\n", "line 2: port is a flag of the server"),
            ("[a]\nx\n", "line 2: expected KEY = VALUE"), ("x = 1\n", "line 1: x is not in a section"), ("[a\n", "line 1: invalid section"),
            ("[a]\n[a]\n", "line 2: [a] is there already, in line 1"), ("[z]\nc = 5\n", "section [z] has no model"),
            ("[a]\ncontext-shift = maybe\n", "line 2: invalid context-shift"), ("[a]\nalias = b\n", "b is the name of a model and an alias of a"),
            ("[a]\nlora = x\nlora-merge = 1\nlora-init-without-apply = 1\n", "exclude each other"), ("[a]\nembd-normalize\n", "expected KEY")]:
        server = None
        try:
            server = Router(["a", "b"], presets=text)
        except RuntimeError as problem:
            true(part in str(problem), f"{text!r}: {problem}")
        true(server is None, f"{text!r} was accepted")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(MODEL, folder + "/a.gguf")
        os.makedirs(folder + "/a")
        shutil.copy(MODEL, folder + "/a/b.gguf")
        for flags, part in [
                (["--models-dir", folder], "two models of the name a"), (["--models-dir", folder + "/x"], "cannot read --models-dir"),
                (["--models-preset", folder + "/x"], "cannot read"), (["-m", MODEL, "--models-dir", folder], "exclude each other"),
                (["--models-dir", folder, "--alias", "x"], "--alias needs -m"), ([], "serve needs a model")]:
            run = subprocess.run([GLINFER, "serve", "--port", "0", *flags], stderr=subprocess.PIPE, text=True, timeout=60,
                                 env={**os.environ, "XDG_CACHE_HOME": folder + "/none"})
            true(run.returncode in (1, 2) and part in run.stderr, f"{flags}: {run.returncode} {run.stderr}")


def keeps_to_a_budget():
    with Router(["a", "b"]) as server:
        server.complete("a")
        size = server.get("/api/ps")[2]["models"][0]["size_vram"]
    with Router(["a", "b"], "--mem-budget", str(size * 3 // 2)) as server:
        for name, other in ("a", "b"), ("b", "a"):
            same(server.complete(name)[0], 200, name)
            same((server.states()[name], server.states()[other]), ("loaded", "unloaded"), "one fits")
    with Router(["a"], "--mem-budget", str(size // 2)) as server:
        status, _, answer = server.complete("a")
        true(status == 500 and "the budget leaves" in answer["error"]["message"], answer)


def sleeps(server):
    """A server of one model."""
    def falls_asleep():
        end = time.monotonic() + 10
        while not server.get("/props")[2]["is_sleeping"]:
            true(time.monotonic() < end, "it stays awake")
            time.sleep(0.05)  # a model that is asked about all the time is never idle

    awake = server.get("/props")[2]
    falls_asleep()
    same({**server.get("/props")[2], "is_sleeping": False}, {**awake, "is_sleeping": False}, "props")
    name = os.path.basename(MODEL)
    same((server.get("/health")[0], server.get("/v1/models")[2]["data"][0]["id"], server.get("/v1/models/" + name)[0]), (200, name, 200), "told asleep")
    same((len(server.slots()), server.get("/api/ps")[2], server.get("/api/tags")[2]["models"][0]["name"]), (1, {"models": []}, name), "and more")
    true("llamacpp:tokens_predicted_total 0\n" in server.get("/metrics")[2], "metrics")
    true(server.get("/props")[2]["is_sleeping"], "these did not wake it")
    same(server.post("/completion", {"prompt": "Hello", "n_predict": 4, "ignore_eos": True})[2]["tokens_predicted"], 4, "it wakes up")
    same(server.get("/props")[2]["is_sleeping"], False, "awake")
    falls_asleep()
    true("llamacpp:tokens_predicted_total 4\n" in server.get("/metrics")[2], "sums go on")
    true(server.ask("/tokenize", content="Hello")["tokens"], "tokens wake it, too")


def wakes_while_it_falls_asleep():
    with Server(GLINFER, MODEL, "--sleep-idle-seconds", "0") as server, concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: server.post("/completion", {"prompt": "Hello", "n_predict": 1 + i % 3})[0], range(24)))
        same(answers, [200] * 24, "answers")
    with Router(["a", "b"], "--sleep-idle-seconds", "0") as server:
        for name in "abab":
            same(server.complete(name)[0], 200, name)
        server.wait_state("a", "sleeping")
        same(server.get("/props?model=a")[2]["is_sleeping"], True, "told asleep")


def stays_as_long_as_requests_say():
    with Router(["a"]) as server:
        def ask(reason="length", path="/api/generate", **body):
            answer = server.ask(path, model="a", stream=False, options={"num_predict": 1}, **body)
            same(answer.get("done_reason", "length"), reason, body)

        ask("unload", keep_alive=0)
        same(server.states()["a"], "unloaded", "it was not loaded for that")
        ask(prompt="x", keep_alive=0)
        server.wait_state("a", "unloaded")
        ask("load", keep_alive=-1)
        same(server.states()["a"], "loaded", "stays")
        ask("unload", "/api/chat", messages=[], keep_alive="0")
        server.wait_state("a", "unloaded")
        ask("load", keep_alive="-1m")
        ask(path="/api/chat", messages=HI, keep_alive="0.1s")
        server.wait_state("a", "unloaded")
        ask(prompt="x", keep_alive="1h30m")
        for text in "soon", "5x", "", True:
            true("keep_alive" in server.post("/api/generate", {"model": "a", "prompt": "x", "keep_alive": text})[2]["error"], text)
        same(server.states()["a"], "loaded", "stays")
    with Server(GLINFER, MODEL) as server:
        server.ask("/api/generate", model=os.path.basename(MODEL), prompt="x", stream=False, keep_alive=0, options={"num_predict": 1})
        end = time.monotonic() + 10
        while not server.get("/props")[2]["is_sleeping"]:
            true(time.monotonic() < end, "it stays awake")
            time.sleep(0.05)  # a model that is asked about all the time is never idle
        same(server.post("/completion", {"prompt": "x", "n_predict": 1})[0], 200, "it wakes up")


class News:
    """The events of /models/sse."""

    def __init__(self, server):
        self.connection = server.connect(20)
        self.connection.request("GET", "/models/sse")
        self.answer = self.connection.getresponse()
        same((self.answer.status, self.answer.getheader("Content-Type")), (200, "text/event-stream"), "a stream")

    def until(self, model, event, **data):
        """Returns the events up to this one."""
        found = []
        while True:
            line = self.answer.readline()
            true(line, f"no {model} {event} {data}, but {found}")
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
                if (found[-1]["model"], found[-1]["event"]) == (model, event) and data.items() <= found[-1].get("data", {}).items():
                    return found


class HeldFile(hub.File):
    """Arrives once its gate is open."""

    def __init__(self, data):
        self.gate = threading.Event()
        super().__init__(data)

    @property
    def pause(self):
        return 0 if self.gate.wait(60) else 60

    @pause.setter
    def pause(self, _):
        """Keeps the gate, whatever pause is set."""


def link_caches(folder):
    """Gives a new folder of caches those of programs. Returns the variables of the environment."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    os.makedirs(folder + "/glinfer")
    for name in "programs", "kernels":
        os.makedirs(f"{home}/glinfer/{name}", exist_ok=True)
        os.symlink(f"{home}/glinfer/{name}", f"{folder}/glinfer/{name}")
    return {"XDG_CACHE_HOME": folder, "MESA_SHADER_CACHE_DIR": os.environ.get("MESA_SHADER_CACHE_DIR", home)}


def fetches_and_removes():
    source, path = hub.Hub(), "q4_0.gguf"
    with open(MODEL, "rb") as file:
        data = file.read()
    slow = HeldFile(data)
    source.add_repo("some/slow", {path: slow})
    source.add_repo("some/other", {path: data, "b-Q8_0.gguf": HeldFile(data)})
    with tempfile.TemporaryDirectory() as cache, Router(
            ["a"], "--models-max", "0", presets="[late]\nhf-repo = some/slow\n[never]\nhf-repo = some/nothing\n",
            env={**link_caches(cache), "HF_ENDPOINT": source.url}) as server, concurrent.futures.ThreadPoolExecutor() as pool:
        news = News(server)
        late = pool.submit(server.complete, "late")
        news.until("late", "model_status", status="downloading")
        same(server.states()["late"], "downloading", "it is fetched")
        same(server.complete("a")[0], 200, "another is loaded meanwhile")
        same(server.states()["late"], "downloading", "before it is there")
        slow.gate.set()
        news.until("a", "model_status", status="loaded")
        same(late.result()[0], 200, "then it answers")
        events = news.until("late", "model_status", status="loaded")
        progress = [event["data"] for event in events if event["event"] == "download_progress"]
        same(list(progress[-1]), [f"{source.url}/some/slow/resolve/main/{path}"], "progress")
        same([set(file) for file in progress[-1].values()], [{"done", "total"}], "of a file")
        status, _, answer = server.complete("never")
        true(status == 500 and "cannot load never: " in answer["error"]["message"], answer)
        same(server.post("/models", {"model": "some/other:Q4_0"})[::2], (200, {"success": True}), "a new one")
        news.until("some/other:Q4_0", "download_finished")
        same(server.complete("some/other:Q4_0")[0], 200, "by the name of the hub")
        same(server.post("/models", {"model": "some/other:Q4_0"})[0], 400, "it is there")
        name = next(name for name in server.states() if "some/other" in name)
        same(server.request("DELETE", "/models?model=" + name)[::2], (200, {"success": True}), "removed")
        news.until(name, "model_remove")
        same(server.complete(name)[0], 404, "gone")
        true(not os.path.exists(f"{cache}/glinfer/models/hf/some/other"), "with its file")
        for word, action in ("unload", lambda name: server.post("/models/unload", {"model": name})), \
                ("delete", lambda name: server.request("DELETE", "/models?model=" + name)):
            name = "some/other:Q8_0"
            server.post("/models", {"model": name})
            time.sleep(0.3)
            same(server.states()[name], "downloading", "it is fetched")
            same(action(name)[0], 200, word)
            same(list(news.until(name, "download_failed")[-1]["data"]), ["message"], "cancelled")
        for method, path, body, status, part in [
                ("POST", "/models", {"model": "a b"}, 400, "USER/REPO"), ("POST", "/models", {}, 400, 'missing "model"'),
                ("DELETE", "/models", None, 400, "in the query"), ("DELETE", "/models?model=x", None, 404, "unknown model x"),
                ("DELETE", "/models?model=a", None, 400, "not in the cache"), ("DELETE", "/models?model=late", None, 400, "a preset or a flag"),
                ("DELETE", "/completion", None, 405, "takes POST")]:
            found, _, answer = server.request(method, path, body)
            true(found == status and part in answer["error"]["message"], f"{method} {path} {body}: {found} {answer}")
        server.get("/models?reload=1")
        news.until("*", "models_reload")
        server.post("/models", {"model": "some/other:Q8_0"})
        begin = time.monotonic()
        same((server.end(), time.monotonic() - begin < 5), (0, True), "it ends at once")
        same(news.answer.read().count(b"data: ") >= 0, True, "and its stream, too")


def main():
    server = start_or_skip(GLINFER, MODEL, "--sleep-idle-seconds", "1", "--metrics")
    tests = [lists_and_loads_on_demand, refuses_in_a_sentence, waits_for_its_turn, cuts_answers_of_a_model_to_be_unloaded, reads_presets,
             refuses_wrong_presets, keeps_to_a_budget, wakes_while_it_falls_asleep, stays_as_long_as_requests_say, fetches_and_removes]
    names = sys.argv[3:]
    with server:
        succeeded = [try_out(sleeps, server)] if not names or "sleeps" in names else []
    succeeded += [try_out(test) for test in tests if not names or test.__name__ in names]
    sys.exit(0 if all(succeeded) else 1)


main()
