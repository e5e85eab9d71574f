#!/usr/bin/env python3
"""What `glinfer serve` promises, over real sockets.

    serve_test.py GLINFER MODEL [NAME...]

MODEL is tests/data/models/tiny-chat.gguf. Names choose tests. Status 77: no device available.
"""
import base64
import concurrent.futures
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from serving import Server, same, start_or_skip, true, try_out, write_with_template

GLINFER, MODEL = sys.argv[1:3]
HI = [{"role": "user", "content": "hi there"}]
# An answer of these takes long: no end of text ends it.
LONG = {"prompt": "Once upon a time", "n_predict": 400, "ignore_eos": True, "temperature": 0}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "How it is.", "parameters": {
    "type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"], "additionalProperties": False}}}]
CALLED = [{"role": "assistant", "content": None, "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": "sunny"}]
TEMPLATE = """{% if tools %}tools:{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}{{ mood }}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for call in m.tool_calls or [] %}{{ '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def text_of_run(prompt, n, *flags):
    run = subprocess.run([GLINFER, "run", "-m", MODEL, "--raw", "-p", prompt, "-n", str(n), "--json", *flags],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(run.stdout)


def tells_of_itself(server):
    same(server.get("/health")[2], {"status": "ok"}, "health")
    models = server.get("/v1/models")[2]
    same(models["data"][0]["id"], os.path.basename(MODEL), "model")
    same(server.get("/v1/models/" + os.path.basename(MODEL))[2], models["data"][0], "the model by its name")
    same(server.get("/v1/models/other")[0], 404, "another")
    same(server.get("/props")[2]["total_slots"], 2, "slots")
    same(type(server.get("/props")[2]["is_software"]), bool, "is_software")
    true(server.get("/")[2].startswith("<!doctype html>"), "page")
    status, headers, text = server.get("/metrics")
    true(status == 200 and "# TYPE llamacpp:prompt_tokens_total counter" in text, "metrics")
    same(server.post("/v1/embeddings", {"input": "x"})[0], 501, "embeddings")


def serves_a_page_that_runs_nothing_else(server):
    status, headers, page = server.get("/")
    same(status, 200, "status")
    same(headers["Content-Type"], "text/html; charset=utf-8", "type")
    same(headers["X-Content-Type-Options"], "nosniff", "nosniff")
    same(headers["Referrer-Policy"], "no-referrer", "referrer")
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    same((policy["default-src"], policy["connect-src"], policy["frame-ancestors"]), ("'none'", "'self'", "'none'"), "policy")
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        texts = re.findall(f"<{tag}[^>]*>(.*?)</{tag}>", page, re.S)
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        same(policy[rule], " ".join(f"'sha256-{hash}'" for hash in hashes), rule)
    same(set(re.findall(r"https?://([\w.]+)", page)), {"www.w3.org"}, "addresses: the name of SVG alone")
    same(re.findall(r" on[a-z]+=| style=|innerHTML|insertAdjacentHTML|document.write|\beval\b", page), [], "doors for HTML")
    same(server.get("/index.html")[2], page, "by its name")
    same(server.request("HEAD", "/")[::2], (200, ""), "HEAD")
    same(server.post("/", {})[0], 404, "POST")
    true("Content-Security-Policy" not in server.get("/health")[1], "the page's alone")


def turns_text_into_tokens(server):
    tokens = server.ask("/tokenize", content="hello \u4e16\u754c")["tokens"]
    same(server.ask("/detokenize", tokens=tokens)["content"], "hello \u4e16\u754c", "there and back")
    pieces = server.ask("/tokenize", content="hello", with_pieces=True)["tokens"]
    same("".join(piece["piece"] for piece in pieces), "hello", "pieces")
    pieces = server.ask("/tokenize", content="a\u4e16", with_pieces=True)["tokens"]
    same([piece["piece"] for piece in pieces], ["a", [0xe4], [0xb8], [0x96]], "pieces that are not UTF-8 are lists of bytes")
    same(server.ask("/tokenize")["tokens"], [], "a text that is missing")
    same(server.ask("/tokenize", content=["hello", 5, "b"])["tokens"], [*server.ask("/tokenize", content="hello")["tokens"], 5, *server.ask("/tokenize", content="b")["tokens"]], "a list")
    same((server.ask("/detokenize"), server.post("/detokenize", {"tokens": 5})[0]), ({"content": ""}, 400), "no tokens")
    same(server.ask("/tokenize", content="")["tokens"], [], "an empty text")
    prompt = server.ask("/apply-template", messages=HI)["prompt"]
    true(prompt.endswith("<|im_start|>user\nhi there<|im_end|>\n<|im_start|>assistant\n"), "template")


def continues_an_answer(server):
    user, begun = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "Once"}
    head, turn = "<|im_start|>assistant\n", "<|im_start|>user\nhi<|im_end|>\n"
    parts = {"role": "assistant", "content": [{"type": "text", "text": "On"}, {"type": "text", "text": "ce"}]}
    told = {"role": "assistant", "content": "<|im_end|> "}
    yes, no = {"continue_final_message": True}, {"continue_final_message": False}
    ask, none = {"add_generation_prompt": True}, {"add_generation_prompt": False}
    for messages, fields, end in [
            ([user], {}, head), ([user], ask, head), ([user], none, ""), ([user], no, head),
            ([user, begun], {}, head + "Once"), ([user, {**begun, "tool_calls": []}], {}, head + "Once"), ([user, begun], yes, head + "Once"), ([user, begun], {**yes, **none}, head + "Once"),
            ([user, begun], no, head + "Once<|im_end|>\n" + head), ([user, begun], ask, head + "Once<|im_end|>\n" + head),
            ([user, begun], none, head + "Once<|im_end|>\n"), ([user, begun], {**no, **none}, head + "Once<|im_end|>\n"),
            ([user, parts], {}, head + "Once"), ([user, told], {}, head + "<|im_end|> "), ([user, {**begun, "content": " "}], {}, head),
            ([user, {"role": "assistant", "content": None}], {}, head)]:
        for more in ({}, {"chat_template_kwargs": {"x": 1}}, {"tools": []}):
            same(server.ask("/apply-template", messages=messages, **fields, **more)["prompt"], turn + end, f"{messages} {fields}")
    for messages, fields in [([user, begun], {**yes, **ask}), ([user], yes), ([user, begun, begun], {}), ([user, begun, begun], yes),
                             ([user, *CALLED[:1]], yes), ([user, begun], {"continue_final_message": 1}),
                             ([user, {"role": "function", "name": "f", "content": "1"}], {}), ([user], {"functions": [{"name": "f"}]}),
                             ([user, {**begun, "function_call": {"name": "f", "arguments": "{}"}}], {}), ([user], {"function_call": "auto"})]:
        for path in ("/apply-template", "/v1/chat/completions"):
            same(server.post(path, {"messages": messages, "max_tokens": 1, **fields})[0], 400, f"{messages} {fields}")
    prompt = server.ask("/apply-template", messages=[user, begun])["prompt"]
    wanted = server.ask("/completion", prompt=prompt, n_predict=8, temperature=0)["content"]
    answer = server.ask("/v1/chat/completions", messages=[user, begun], max_tokens=8, temperature=0)
    same(answer["choices"][0]["message"]["content"], wanted, "the rest of the answer alone")


def answers_as_run_does(server):
    own = text_of_run("Once upon", 24, "--temp", "0")
    answer = server.ask("/completion", prompt="Once upon", n_predict=24, temperature=0, return_tokens=True)
    same(answer["tokens"], own["tokens"], "greedy tokens")
    same(answer["content"], own["text"], "greedy text")
    own = text_of_run("Once upon", 24, "-s", "7")
    answer = server.ask("/completion", prompt="Once upon", n_predict=24, seed=7, return_tokens=True)
    same(answer["tokens"], own["tokens"], "sampled tokens")
    same(answer["stop_type"], "limit", "stop")
    same(answer["timings"]["predicted_n"], 24, "timings")


def streams_what_it_answers(server):
    body = {"messages": HI, "max_tokens": 16, "temperature": 0}
    whole = server.ask("/v1/chat/completions", **body)
    events = list(server.stream("/v1/chat/completions", stream_options={"include_usage": True}, **body))
    same(events[-1], "[DONE]", "end")
    same(events[0]["choices"][0]["delta"]["role"], "assistant", "role")
    text = "".join(e["choices"][0]["delta"].get("content") or "" for e in events[:-1] if e["choices"])
    same(text, whole["choices"][0]["message"]["content"], "text")
    same(events[-2]["usage"]["completion_tokens"], 16, "usage")
    same([e["choices"][0]["finish_reason"] for e in events[:-2]][-1], "length", "finish_reason")
    parts = list(server.stream("/completion", **{**LONG, "n_predict": 9}))
    true(parts[-1]["stop"] and parts[-1]["tokens_predicted"] == 9, "native stream")


def tells_the_place_in_the_queue():
    """With return_progress: how many come before an answer that waits, and the length of its prompt."""
    with Server(GLINFER, MODEL, "-np", "1", "-c", "2048", env={"GLINFER_FAULT": "slow:EMBED_TOKEN:5"}) as server:
        first = server.stream("/completion", **LONG)
        next(first)
        waiting = [server.stream(path, stream_options={}, return_progress=True, max_tokens=2, **body) for path, body in (
            ("/completion", {"prompt": "Once upon"}), ("/v1/chat/completions", {"messages": HI}))]
        same(next(waiting[0])["queue"], {"before": 0}, "next")
        same(next(waiting[1])["queue"], {"before": 1}, "the one after it")
        first.close()
        events = list(waiting[0])
        n = len(server.ask("/tokenize", content="Once upon", add_special=True)["tokens"])
        same([event["prompt_progress"]["total"] for event in events if "prompt_progress" in event][0], n, "the length of the prompt")
        same(next(waiting[1])["queue"], {"before": 0}, "moved up")
        true([event for event in waiting[1] if event != "[DONE]" and event.get("prompt_progress")], "progress of a chat")


def has_openai_s_completions(server):
    answer = server.ask("/v1/completions", prompt=["Once", "upon"], max_tokens=5, n=2, logprobs=2, seed=1)
    same([choice["index"] for choice in answer["choices"]], [0, 1, 2, 3], "choices")
    logprobs = answer["choices"][0]["logprobs"]
    same([len(logprobs[name]) for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")], [5] * 4, "logprobs")
    names = [list(top) for choice in server.ask("/v1/completions", prompt="Once", max_tokens=20, logprobs=20, temperature=0)["choices"] for top in choice["logprobs"]["top_logprobs"]]
    true("\ufffd" not in str(names) and any(name.startswith("bytes:\\x") for top in names for name in top), f"names of tokens that are not UTF-8: {names}")
    answer = server.ask("/v1/chat/completions", messages=HI, max_tokens=3, logprobs=True, top_logprobs=3)
    content = answer["choices"][0]["logprobs"]["content"]
    same([len(token["top_logprobs"]) for token in content], [3] * 3, "top_logprobs")
    body = {"prompt": "Once", "max_tokens": 40, "logprobs": 0, "temperature": 3, "top_p": 1, "min_p": 0, "seed": 1}
    found = server.ask("/v1/completions", top_k=40, **body)["choices"][0]["logprobs"]["token_logprobs"]
    true(min(found) > -9999, f"of a token that is not among the first: {found}")
    for name, value in {"best_of": 2, "suffix": "x"}.items():
        status, _, answer = server.post("/v1/completions", {"prompt": "x", "max_tokens": 1, name: value})
        true(status == 400 and name in answer["error"]["message"], answer)


def echoes_the_prompt(server):
    """As evaluation harnesses ask: the log-probabilities of a prompt are those that its tokens had when they were generated."""
    path, begin = "/v1/completions", server.ask("/tokenize", content="Once upon", add_special=True)["tokens"]
    own = server.ask("/completion", prompt=begin, n_predict=9, temperature=0, n_probs=3, return_tokens=True, ignore_eos=True)
    ids, wanted = begin + own["tokens"], [token["logprob"] for token in own["completion_probabilities"]]
    for n_top, n_more in ((0, 0), (2, 0), (2, 3)):
        body = {"prompt": ids, "max_tokens": n_more, "echo": True, "logprobs": n_top, "temperature": 0, "ignore_eos": True}
        choice = server.ask(path, **body)["choices"][0]
        found = choice["logprobs"]
        same([len(found[name]) for name in found], [len(ids) + n_more] * 4, "tokens")
        same((found["token_logprobs"][0], found["top_logprobs"][0], found["text_offset"][0]), (None, None, 0), "nothing before the first")
        for mine, other in zip(found["token_logprobs"][len(begin):], wanted):
            true(abs(mine - other) < 0.02, f"{mine} {other}")
        if n_top:
            true(all(max(top.values()) <= mine + 0.02 for mine, top in zip(found["token_logprobs"][len(begin):], found["top_logprobs"][len(begin):])), "the likeliest were taken")
        true(choice["text"].startswith(server.ask("/detokenize", tokens=begin)["content"]), choice["text"])
        events = [event for event in server.stream(path, **body) if event != "[DONE]"]
        same("".join(event["choices"][0]["text"] for event in events), choice["text"], "streamed")
        same(sum((event["choices"][0]["logprobs"]["token_logprobs"] for event in events if event["choices"][0]["logprobs"]), []), found["token_logprobs"], "streamed")
    answer = server.ask(path, prompt=["a <b> \u00e9", "z"], max_tokens=2, echo=True, temperature=0)
    texts = [server.ask(path, prompt=prompt, max_tokens=2, temperature=0)["choices"][0]["text"] for prompt in ("a <b> \u00e9", "z")]
    same([choice["text"] for choice in answer["choices"]], ["a <b> \u00e9" + texts[0], "z" + texts[1]], "texts")
    same(server.ask(path, prompt="x", max_tokens=0, echo=True)["choices"][0]["text"], "x", "the prompt alone")


def keeps_to_json(server):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}, "ok": {"type": "boolean"}},
              "required": ["n", "ok"], "additionalProperties": False}
    answer = server.ask("/v1/chat/completions", messages=HI, max_tokens=300, seed=1, response_format={
        "type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}})
    found = json.loads(answer["choices"][0]["message"]["content"])
    true(isinstance(found["n"], int) and isinstance(found["ok"], bool), "schema")
    answer = server.ask("/completion", prompt="x", n_predict=50, grammar='root ::= "yes" | "no"')
    true(answer["content"] in ("yes", "no"), "grammar")
    same(server.post("/completion", {"prompt": "x", "grammar": "root ::= ("})[0], 400, "wrong grammar")
    same(server.post("/completion", {"prompt": "x", "json_schema": {"not": {}}})[0], 400, "wrong schema")


def tells_thoughts_from_answers(server):
    thought, content = "hm, <b>\nhm", "so it <think>is"
    body = {"messages": HI, "max_tokens": 300, "temperature": 0, "grammar": f'root ::= "<think>\\n {thought} \\n</think>\\n\\n{content}"'.replace("\nhm", "\\nhm")}
    path = "/v1/chat/completions"
    message = server.ask(path, **body)["choices"][0]["message"]
    same((message["reasoning_content"], message["content"]), (thought, content), "whole")
    deltas = [e["choices"][0]["delta"] for e in server.stream(path, logprobs=True, **body) if e != "[DONE]"]
    for name, text in (("reasoning_content", thought), ("content", content)):
        same("".join(delta.get(name) or "" for delta in deltas), text, f"streamed {name}")
    message = server.ask(path, reasoning_format="none", **body)["choices"][0]["message"]
    same((message["content"], "reasoning_content" in message), (f"<think>\n {thought} \n</think>\n\n{content}", False), "none")
    message = server.ask(path, **{**body, "grammar": 'root ::= "\\n <b> </think>"'})["choices"][0]["message"]
    same((message["content"], "reasoning_content" in message), ("\n <b> </think>", False), "no thought")
    same(server.post(path, {**body, "reasoning_format": "x"})[0], 400, "format")


def tells_a_thought_that_the_template_opens():
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "thinks.gguf")
        write_with_template(MODEL, TEMPLATE.replace("assistant\n{% endif", "assistant\n<think>\n{% endif"), model)
        with Server(GLINFER, model) as server:
            body = {"messages": HI, "max_tokens": 12, "temperature": 0, "ignore_eos": True}
            message = server.ask("/v1/chat/completions", **body)["choices"][0]["message"]
            true(message["reasoning_content"] and message["content"] == "", message)
            answer = server.ask("/v1/chat/completions", **{**body, "max_tokens": 99, "ignore_eos": False}, response_format={"type": "json_object"})
            true(answer["choices"][0]["message"]["content"].startswith("{"), answer)
            free = server.ask("/v1/chat/completions", **body)["usage"]["prompt_tokens"]
            end = server.ask("/tokenize", content="\n</think>\n\n")["tokens"]
            same(answer["usage"]["prompt_tokens"], free + len(end), "JSON stands after the thought")
        with Server(GLINFER, model, "--reasoning-format", "none") as server:
            same("reasoning_content" in server.ask("/v1/chat/completions", **body)["choices"][0]["message"], False, "none")


def stops_and_biases(server):
    whole = server.ask("/completion", **{**LONG, "n_predict": 40})["content"]
    word = whole[len(whole) // 2:][:3]
    answer = server.ask("/completion", **{**LONG, "n_predict": 40, "stop": ["never there", word]})
    same((answer["content"], answer["stop_type"], answer["stopping_word"]), (whole[:whole.index(word)], "word", word), "stop")
    wild = {"prompt": "the quick", "n_predict": 60, "temperature": 1.5, "top_k": 0, "top_p": 1, "min_p": 0, "seed": 7, "ignore_eos": True}
    whole = server.ask("/completion", **wild)["content"]
    words = [found.group() for found in re.finditer("[a-z]{2}", whole) if "\ufffd" in whole[:found.start()] and whole.index(found.group()) == found.start()]
    answer = server.ask("/completion", **wild, stop=["never there", words[0]])
    same((answer["content"], answer["stopping_word"]), (whole[:whole.index(words[0])], words[0]), "stop after bytes that are not UTF-8")
    token = server.ask("/tokenize", content="a")["tokens"][0]
    answer = server.ask("/completion", prompt="x", n_predict=6, temperature=0, logit_bias={str(token): 100})
    same(answer["content"], "aaaaaa", "bias by id")
    answer = server.ask("/completion", prompt="x", n_predict=6, temperature=0, logit_bias=[["a", 100]])
    same(answer["content"], "aaaaaa", "bias by text")


def pays_for_new_tokens_only(server):
    first = server.ask("/v1/chat/completions", messages=HI, max_tokens=8, temperature=0, ignore_eos=True)
    told = HI + [first["choices"][0]["message"], {"role": "user", "content": "and then?"}]
    again = server.ask("/v1/chat/completions", messages=told, max_tokens=1, temperature=0)
    usage = again["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    true(cached >= first["usage"]["prompt_tokens"], f"cached tokens of {usage}")
    fresh = server.ask("/completion", prompt="Once upon", n_predict=1, cache_prompt=False)
    same(fresh["timings"]["cache_n"], 0, "cache_prompt")


def refuses_what_is_wrong(server):
    for body, part in [
            ("", "invalid JSON"), ("{", "invalid JSON"), ("[1]", "not a JSON object"), ('{"prompt": "x"} junk', "at byte 16"),
            ('{"prompt": "x"}{}', "at byte 15"), ('{"prompt": [01]}', "at byte 12"), ('{"prompt": "\\u0000"}', "zero"),
            (b'{"prompt": "\xff"}', "UTF-8"), ("{}", "prompt"), ('{"prompt": ""}', "empty"), ('{"prompt": []}', "empty"),
            ('{"prompt": {"a": 1}}', "prompt"), ('{"prompt": [99999999]}', "vocabulary"), ('{"prompt": "x", "temperature": "hot"}', "temperature"),
            ('{"prompt": "x", "n_predict": 1.5}', "n_predict"), ('{"prompt": {"prompt_string": "a", "multimodal_data": "b"}}', "images"),
            ('{"prompt": "x", "n_predict": 0, "json_schema": {"type": "hiccup"}}', "hiccup"),
            ('{"prompt": "x", "stop": 5}', "stop"), ('{"prompt": "x", "top_k": 1e99}', "top_k"), ('{"prompt": "x", "id_slot": 99}', "id_slot"),
            ('{"prompt": "x", "samplers": ["nonsense"]}', "nonsense"), ('{"prompt": "x", "logit_bias": [[1]]}', "bias"),
            ('{"prompt": "x", "logit_bias": {"99999999": 1}}', ""), ('{"prompt": "x", "n": 1000}', '"n"'),
            (json.dumps({"prompt": "word " * 2000}), "context"), ("[" * 5000, "invalid JSON")]:
        status, _, answer = server.post("/completion", body)
        true(status == 400 and part in answer["error"]["message"], f"{body[:60]!r}: {status} {answer}")
    for body in [{}, {"messages": []}, {"messages": "hi"}, {"messages": [{}]}, {"messages": [{"role": "cat", "content": "x"}]},
                 {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": [1]}}]}]},
                 {"messages": [{"role": "user", "content": [{"type": "image_url", "text": "x"}]}]}, {"messages": HI, "top_logprobs": 2},
                 {"messages": [{"role": "user"}]}, {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, {"messages": HI, "response_format": {"type": "xml"}}]:
        status, _, answer = server.post("/v1/chat/completions", body)
        same((status, answer.get("error", {}).get("type")), (400, "invalid_request_error"), str(body))
    same(server.get("/nothing")[0], 404, "path")
    same(server.get("/completion")[0], 405, "method")
    same(server.request("DELETE", "/health")[0], 405, "method")


def refuses_large_bodies(server):
    large = json.dumps({"prompt": "x" * (3 << 19)})
    same(server.post("/completion", large)[0], 413, "announced")
    connection = server.connect()
    connection.request("POST", "/completion", (b"x" * 65536 for _ in range(20)), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
    same(connection.getresponse().status, 413, "in chunks")
    connection.close()
    with server.socket() as raw:  # so large that it is not read
        raw.sendall(b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nx")
        true(b" 413 " in raw.recv(100), "far over the limit")
    with server.socket() as raw:  # over 32 KiB of headers
        raw.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 65536 + b"\r\n\r\n")
        true(b" 200 " not in raw.recv(100), "headers")
    same(server.get("/health")[0], 200, "afterwards")


def frees_the_slot_of_a_vanished_client(server):
    for is_stream in (True, False):
        raw = server.socket()
        body = json.dumps({**LONG, "n_predict": -1, "stream": is_stream})
        raw.sendall(f"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        while not any(slot["is_processing"] for slot in server.slots()):
            time.sleep(0.005)
        raw.close()
        true(server.wait_idle() < 2, "slot is free soon")


def serves_beside_slow_and_idle_clients(server):
    idle = [server.socket() for _ in range(200)]
    slow = server.socket()
    slow.sendall(b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    half = server.socket()
    half.sendall(b"GET /health HTTP/1.1\r\n")
    half.shutdown(socket.SHUT_WR)
    for _ in range(5):
        same(server.ask("/completion", prompt="x", n_predict=2)["tokens_predicted"], 2, "beside them")
    for connection in [*idle, slow, half]:
        connection.close()


def answers_several_at_once(server):
    alone = [server.ask("/completion", prompt="Once", n_predict=30, seed=seed, cache_prompt=False)["content"] for seed in range(4)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        def ask(seed):
            return "".join(e["content"] for e in server.stream("/completion", prompt="Once", n_predict=30, seed=seed, cache_prompt=False))
        same(list(pool.map(ask, [0, 1, 2, 3] * 4)), alone * 4, "texts")


def keeps_a_connection(server):
    connection = server.connect()
    for _ in range(3):
        connection.request("POST", "/completion", json.dumps({"prompt": "x", "n_predict": 2}))
        same(json.load(connection.getresponse())["tokens_predicted"], 2, "on one connection")
    connection.close()


def tells_of_tools_where_the_template_does_not(server):
    prompt = server.ask("/apply-template", messages=HI + CALLED, tools=TOOLS)["prompt"]
    true("<|im_start|>system\nYou can call these tools:\n<tools>\n{\"name\":\"weather\"" in prompt, prompt)
    true(prompt.endswith('<|im_start|>assistant\n<tool_call>\n{"name":"weather","arguments":{"city":"Oslo"}}\n</tool_call><|im_end|>\n'
                         '<|im_start|>user\n<tool_response>\nsunny\n</tool_response><|im_end|>\n<|im_start|>assistant\n'), prompt)
    calls_tools(server)


def calls_tools(server):
    choice = {"type": "function", "function": {"name": "weather"}}
    body = {"messages": HI, "tools": TOOLS, "tool_choice": choice, "parallel_tool_calls": False, "max_tokens": 200, "seed": 1}
    answer = server.ask("/v1/chat/completions", **body)["choices"][0]
    same((answer["finish_reason"], answer["message"]["content"]), ("tool_calls", None), "reason")
    function = answer["message"]["tool_calls"][0]["function"]
    same((function["name"], json.loads(function["arguments"])["city"] in ("Oslo", "Rome")), ("weather", True), "call")
    deltas = [e["choices"][0]["delta"] for e in server.stream("/v1/chat/completions", **body) if e != "[DONE]"]
    parts = [call for delta in deltas for call in delta.get("tool_calls", [])]
    same(({part["index"] for part in parts}, parts[0]["type"], parts[0]["function"]), ({0}, "function", {"name": "weather", "arguments": ""}), "streamed")
    same("".join(part["function"]["arguments"] for part in parts), function["arguments"], "streamed arguments")
    true(len(parts) > 2 and all(set(part) == {"index", "function"} for part in parts[1:]), f"in pieces: {parts}")
    same("".join(delta.get("content") or "" for delta in deltas), "", "streamed text")
    for wrong in [{"tools": 1}, {"tools": [{}]}, {"tools": [*TOOLS, {"type": "function", "function": {"name": "a/b"}}]}, {"tool_choice": "never"}, {"tools": [], "tool_choice": "required"}, {"tool_choice": {"type": "function", "function": {"name": "x"}}}]:
        same(server.post("/v1/chat/completions", {**body, **wrong})[0], 400, str(wrong))
    for n in (6, 20):  # cut within the mark of a call, and after it
        cut = server.ask("/v1/chat/completions", **{**body, "max_tokens": n})["choices"][0]
        same((cut["finish_reason"], cut["message"]["content"]), ("length", ""), f"cut after {n}")
        deltas = [e["choices"][0]["delta"] for e in server.stream("/v1/chat/completions", **{**body, "max_tokens": n}) if e != "[DONE]"]
        same("".join(delta.get("content") or "" for delta in deltas), "", f"cut after {n}, streamed")
    arguments = {}
    for event in server.stream("/v1/chat/completions", **{**body, "parallel_tool_calls": True, "max_tokens": 100}):
        for part in [] if event == "[DONE]" else event["choices"][0]["delta"].get("tool_calls", []):
            arguments[part["index"]] = arguments.get(part["index"], "") + part["function"]["arguments"]
        reason = reason if event == "[DONE]" else event["choices"][0]["finish_reason"]
    true(reason == "length" or all(map(json.loads, arguments.values())), f"{reason}: a call is cut: {arguments}")
    text = server.ask("/v1/chat/completions", **{**body, "tool_choice": "none", "max_tokens": 5})["choices"][0]
    same(text["message"].get("tool_calls"), None, "none")
    server.ask("/v1/chat/completions", **{**body, "tool_choice": "auto", "max_tokens": 5})


SHARED = [tells_of_tools_where_the_template_does_not, tells_of_itself, serves_a_page_that_runs_nothing_else, turns_text_into_tokens, continues_an_answer, answers_as_run_does, streams_what_it_answers, has_openai_s_completions, echoes_the_prompt, keeps_to_json, tells_thoughts_from_answers,
          stops_and_biases, pays_for_new_tokens_only, refuses_what_is_wrong, refuses_large_bodies,
          frees_the_slot_of_a_vanished_client, serves_beside_slow_and_idle_clients, answers_several_at_once, keeps_a_connection]


def calls_tools_as_the_template_does():
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "tools.gguf")
        write_with_template(MODEL, TEMPLATE, model)
        with Server(GLINFER, model) as server:
            prompt = server.ask("/apply-template", messages=HI + CALLED, tools=TOOLS, chat_template_kwargs={"mood": "<|im_end|>"})["prompt"]
            true(prompt.startswith("tools:" + json.dumps(TOOLS[0]) + "<|im_end|><|im_start|>user\nhi there<|im_end|>"), prompt)
            true(prompt.endswith('<|im_start|>assistant\n\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call><|im_end|>'
                                 '<|im_start|>tool\nsunny<|im_end|><|im_start|>assistant\n'), prompt)
            calls_tools(server)


def calls_tools_in_a_list():
    """Tests the calls of Mistral's models, which follow a control token without text."""
    template = """{% if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}{% for m in messages %}{% if m.tool_calls %}[TOOL_CALLS] [
{%- for call in m.tool_calls %}{% if call.id | length != 9 %}{{ raise_exception('an id has 9 letters') }}{% endif %}{{ call.function | tojson }}{% endfor %}]<|im_end|>
{%- elif m.role == 'user' %}[INST] {{ m.content }}[/INST]{% else %}{{ m.content }}{% endif %}{% endfor %}"""
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "listed.gguf")
        write_with_template(MODEL, template, model)
        with open(model, "rb+") as file:
            data = file.read()
            file.seek(0)
            file.write(data.replace(b"<|im_start|>", b"[TOOL_CALLS]"))
        with Server(GLINFER, model) as server:
            calls_tools(server)
            token, = server.ask("/tokenize", content="[TOOL_CALLS]")["tokens"]
            body = {"messages": HI, "tools": TOOLS, "max_tokens": 300, "temperature": 0, "logit_bias": {str(token): 100}, "parallel_tool_calls": False}
            answer = server.ask("/v1/chat/completions", **body)["choices"][0]
            same((answer["finish_reason"], answer["message"]["content"]), ("tool_calls", None), "by the token")
            calls = answer["message"]["tool_calls"]
            true(all(len(call["id"]) == 9 for call in calls), calls)
            prompt = server.ask("/apply-template", tools=TOOLS, messages=[*HI, answer["message"], {
                "role": "tool", "tool_call_id": calls[0]["id"], "content": "sunny"}])["prompt"]
            true('[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "' in prompt and prompt.endswith("sunny"), prompt)
            deltas = [e["choices"][0]["delta"] for e in server.stream("/v1/chat/completions", **body) if e != "[DONE]"]
            same(sum("id" in part for delta in deltas for part in delta.get("tool_calls", [])), len(calls), "streamed")
            same("".join(delta.get("content") or "" for delta in deltas), "", "streamed text")


# Ways in which families have calls: what their templates write of one. The second list tells of tools alone.
FORMS = {
    "mistral": "[TOOL_CALLS]{n}[ARGS]{{ a | tojson }}",
    "channels": "<|start|>assistant to=functions.{n}<|channel|>commentary json<|message|>{{ a | tojson }}<|call|>",
    "tags": "<tool_call>\n<function={n}>{% for k, v in a.items() %}\n<parameter={{ k }}>\n{{ v }}\n</parameter>{% endfor %}\n</function>\n</tool_call>",
    "seed": "<seed:tool_call>\n<function={n}>{% for k, v in a.items() %}\n<parameter={{ k }}>{{ v }}</parameter>{% endfor %}\n</function>\n</seed:tool_call>",
    "minicpm": '<function name="{n}">{% for k, v in a.items() %}<param name="{{ k }}">{{ v }}</param>{% endfor %}</function>',
    "python": "<|tool_call_start|>[{n}({% for k, v in a.items() %}{{ k }}={{ v | tojson }}{% endfor %})]<|tool_call_end|>",
    "lines": "<function_calls>{n}({% for k, v in a.items() %}{{ k }}={{ v | tojson }}{% endfor %})</function_calls>",
    "nemotron": '<TOOLCALL>[{"name": "{n}", "arguments": {{ a | tojson }}}]</TOOLCALL>',
    "apriel": '<tool_calls>[{"name": "{n}", "arguments": {{ a | tojson }}}]</tool_calls>',
    "gemma": '<|tool_call>call:{n}{{ "{" }}{% for k, v in a.items() %}{{ k }}:<|"|>{{ v }}<|"|>{% endfor %}{{ "}" }}<tool_call|>{{ m.tool_responses[0].name ~ ":" ~ m.tool_responses[0].response if m.tool_responses }}',
    "function_gemma": '<start_function_call>call:{n}{{ "{" }}{% for k, v in a.items() %}{{ k }}:<escape>{{ v }}<escape>{% endfor %}{{ "}" }}<end_function_call>',
    "granite": "",
}


def calls_tools_in_the_forms_of_families():
    for name, form in FORMS.items():
        form = form.replace("{n}", "{{ c.function.name }}")
        result = '{% if m.role == "tool" %}<start_function_response>response:{{ m.name }}{% endif %}' * (name == "function_gemma")
        template = ("{% if tools %}<|tool_call|> {{ tools | tojson }}{% endif %}{% for m in messages %}" + result + "{{ m.content }}"
                    "{% for c in m.tool_calls or [] %}{% set a = c.function.arguments %}" + form + "{% endfor %}\n{% endfor %}" + "<|start|>assistant" * (name == "channels"))
        with Server(GLINFER, MODEL, "--chat-template", template) as server:
            prompt = server.ask("/apply-template", messages=HI + CALLED, tools=TOOLS)["prompt"]
            true("You can call" not in prompt and "weather" in prompt.split("hi there")[1], f"{name}: {prompt}")
            same("weather:sunny" in prompt, name == "gemma", f"{name}: {prompt}")
            same("response:weathersunny" in prompt, name == "function_gemma", f"{name}: {prompt}")
            calls_tools(server)


def takes_variables_of_the_template():
    template = "{{ enable_thinking is defined and enable_thinking }} {{ mood }} {{ messages[0].content }}"
    with Server(GLINFER, MODEL, "--chat-template", template, "--reasoning", "on", "--chat-template-kwargs", '{"mood": "glad"}') as server:
        same(server.ask("/apply-template", messages=HI)["prompt"], "True glad hi there", "those of the server")
        prompt = server.ask("/apply-template", messages=HI, chat_template_kwargs={"enable_thinking": False})["prompt"]
        same(prompt, "False glad hi there", "those of a request come first")
        same(server.ask("/apply-template", messages=HI, chat_template_kwargs=None)["prompt"], "True glad hi there", "null counts as absent")


def answers_with_tokens_of_the_vocabulary_alone():
    """The embedding has 320 rows; those past the vocabulary belong to no token."""
    n = 290
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "fewer.gguf")
        write_with_template(MODEL, None, model, n)
        with Server(GLINFER, model, "-np", "2") as server:
            for settings in ({"top_k": 0}, {"top_k": 300}, {"top_k": 3}, {"top_k": 0, "typical_p": 0.99}, {"temperature": 0}):
                body = {"prompt": "Once", "n_predict": 40, "temperature": 1000, "top_p": 1, "min_p": 0, "seed": 3, "ignore_eos": True,
                        "return_tokens": True, "n_probs": 64, "n": 2, **settings}
                for answer in server.ask("/completion", **body):
                    ids = answer["tokens"] + [top["id"] for token in answer["completion_probabilities"] for top in token["top_logprobs"]]
                    true(len(ids) > 500 and max(ids) < n, f"{settings}: {max(ids)}")
            same(server.post("/completion", {"prompt": [n], "n_predict": 1})[0], 400, "an id beyond the vocabulary")


def saves_slots():
    prompt = {"prompt": "Once upon a time there was", "n_predict": 8, "temperature": 0, "ignore_eos": True, "id_slot": 0}
    with tempfile.TemporaryDirectory() as folder:
        with Server(GLINFER, MODEL, "-np", "2", "--slot-save-path", folder) as server:
            wanted = server.ask("/completion", **prompt)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:  # the other slot is not waited for
                future = pool.submit(server.ask, "/completion", **{**LONG, "id_slot": 1})
                while not server.slots()[1]["is_processing"]:
                    time.sleep(0.005)
                saved = server.ask("/slots/0?action=save", filename="a.bin")
                future.result()
            n = saved["n_saved"]
            same((saved["id_slot"], saved["filename"]), (0, "a.bin"), "saved")
            true(n >= 8 and saved["n_written"] == os.path.getsize(os.path.join(folder, "a.bin")), saved)
            same(server.request("POST", "/slots/0?action=erase")[2], {"id_slot": 0, "n_erased": n}, "erased")
            same(server.ask("/completion", **prompt)["timings"]["cache_n"], 0, "forgotten")
            for name in ("", "../a", ".a", "a/b", 1, None, "x" * 300):
                same(server.post("/slots/0?action=save", {"filename": name})[0], 400, name)
            for path, status in (("/slots/2?action=save", 400), ("/slots/x?action=save", 400), ("/slots/0?action=eat", 400), ("/slots/0", 400),
                                 ("/slots/-1?action=save", 400), ("/slots/0?action=restore", 404)):
                same(server.post(path, {"filename": "none"})[0], status, path)
            same(server.get("/slots/0")[0], 405, "GET")
            with open(os.path.join(folder, "bad"), "wb") as file:
                file.write(b"no state")
            same(server.post("/slots/0?action=restore", {"filename": "bad"})[0], 400, "another file")
        with Server(GLINFER, MODEL, "--slot-save-path", folder) as server:
            restored = server.ask("/slots/0?action=restore", filename="a.bin")
            same((restored["n_restored"], restored["n_read"]), (n, saved["n_written"]), "restored")
            again = server.ask("/completion", **prompt)
            same(again["content"], wanted["content"], "the same answer")
            true(again["timings"]["cache_n"] > 0, "by what was saved")
    with Server(GLINFER, MODEL) as server:
        same(server.post("/slots/0?action=erase", {})[0], 501, "turned off")
        status, _, told = server.get("/metrics")
        same((status, "enable it with --metrics" in str(told)), (501, True), told)


def warns_of_a_foreign_template():
    with Server(GLINFER, MODEL, "--chat-template", "gemma") as server:
        server.wait_for("warning: the chat template gemma begins its turns with <start_of_turn>, which is not a token")


def says_503_when_full():
    with Server(GLINFER, MODEL, "-np", "1", "--queue", "1", "-c", "512") as server:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _: server.post("/completion", LONG), range(8)))
        statuses = [reply[0] for reply in replies]
        true(statuses.count(200) >= 2 and statuses.count(503) >= 1 and set(statuses) == {200, 503}, statuses)
        for status, headers, answer in replies:
            if status == 503:
                true(1 <= int(headers["Retry-After"]) <= 60, "Retry-After")
                same(answer["error"]["type"], "unavailable_error", "type")


def asks_for_keys():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("first key\nsecond\n")
        file.flush()
        with Server(GLINFER, MODEL, "--api-key-file", file.name, "--api-key", "third,fourth") as server:
            same(server.get("/health")[0], 200, "health is open")
            same(server.get("/v1/models")[0], 401, "no key")
            for key in ("first", "secondd", "", "third,fourth", "fourth "):
                same(server.get("/v1/models", Authorization=f"Bearer {key}")[0] in (401, 200 if key == "fourth " else 401), True, key)
            for key in ("first key", "second", "third", "fourth"):
                same(server.get("/v1/models", Authorization=f"Bearer {key}")[0], 200, key)
            same(server.get("/v1/models", **{"X-Api-Key": "second"})[0], 200, "X-Api-Key")
            same(server.post("/completion", {"prompt": "x"})[0], 401, "before the body")


def lets_pages_of_others_ask_only_if_told():
    with Server(GLINFER, MODEL, "--cors", "https://chat.example") as server:
        own = f"http://{server.host}:{server.port}"
        same(server.get("/health", Origin=own)[0], 200, "its own page")
        same(server.get("/health", Origin="https://evil.example")[0], 403, "another")
        same(server.get("/health", Origin="null")[0], 403, "none")
        for host, status in (("evil.example:80", 403), ("chat.example", 200), ("board.local:80", 200)):
            same([server.get(path, Host=host)[0] for path in ("/props", "/slots")], [status] * 2, host)
        same(server.get("/health", Host="evil.example")[0], 200, "health tells nothing")
        status, headers, _ = server.get("/health", Origin="https://chat.example")
        same((status, headers["Access-Control-Allow-Origin"]), (200, "https://chat.example"), "the one")
        asked = {"Origin": "https://chat.example", "Access-Control-Request-Headers": "authorization,x-stainless-os"}
        status, headers, _ = server.request("OPTIONS", "/completion", None, asked)
        same((status, headers["Access-Control-Allow-Methods"]), (200, "GET, POST, DELETE, OPTIONS"), "preflight")
        same(headers["Access-Control-Allow-Headers"], "authorization,x-stainless-os", "headers of SDKs")
        status, headers, _ = server.request("OPTIONS", "/completion", None, {**asked, "Origin": "https://evil.example"})
        same((status, headers["Access-Control-Allow-Origin"]), (200, None), "another's preflight")
    with Server(GLINFER, MODEL, "--api-key", "k", "--no-ui", "--host", "127.0.0.1,127.0.0.2") as server:
        page = {"Origin": "https://any.example"}
        status, headers, _ = server.get("/props", Authorization="Bearer k", **page)
        same((status, headers["Access-Control-Allow-Origin"], headers["Access-Control-Allow-Credentials"]),
             (200, "https://any.example", "true"), "a page that has the key")
        same((server.get("/props", **page)[0], server.get("/")[0]), (401, 404), "without the key; without a page")
        server.wait_for(r"listening on http://127.0.0.2:")
        same(server.get("/health")[1]["Access-Control-Allow-Origin"], None, "no origin")


def drains():
    with Server(GLINFER, MODEL, "-c", "512") as server:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            future = pool.submit(server.ask, "/completion", **LONG)
            while not any(slot["is_processing"] for slot in server.slots()):
                time.sleep(0.005)
            kept = server.connect()
            kept.request("GET", "/health")
            same(kept.getresponse().read(), b'{"status":"ok"}', "health")
            server.process.send_signal(signal.SIGTERM)
            server.wait_for("shutting down")
            for path, body in (("/health", None), ("/completion", LONG)):
                status, headers, _ = server.request("POST" if body else "GET", path, body)
                same((status, headers["Connection"]), (503, "close"), f"{path} meanwhile")
            same(future.result()["tokens_predicted"], 400, "the answer under way")
        same(server.end(), 0, "status")


def serves_who_has_said_all():
    """Clients that send no more, whose requests are long to work on or have to wait."""
    with Server(GLINFER, MODEL, "-c", "512") as server:
        raws = []
        for path, body in (("/completion", LONG), ("/completion", {**LONG, "stream": True}), ("/tokenize", {"content": "x"}),
                           ("/v1/completions", {**LONG, "max_tokens": 300})):
            text = json.dumps(body)
            raws.append(server.socket())
            raws[-1].sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
            raws[-1].shutdown(socket.SHUT_WR)
        wholes = [b"".join(iter(lambda: raw.recv(1 << 16), b"")) for raw in raws]
        for whole, end in zip(wholes, (b'"tokens_predicted":400', b'"tokens_predicted":400', b'"tokens":[', b'"completion_tokens":300')):
            true(whole.startswith(b"HTTP/1.1 200") and end in whole, whole[-400:])
    body = json.dumps({"content": "a1 \u4e16 " * (1 << 18)})
    with Server(GLINFER, MODEL, "--threads-http", "1") as server, server.socket(120) as raw:
        raw.sendall(f"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        raw.shutdown(socket.SHUT_WR)
        begin = time.monotonic()
        same(raw.recv(12), b"HTTP/1.1 200", f"after {time.monotonic() - begin} s")


def ends_at_the_second_signal():
    with Server(GLINFER, MODEL, "-c", "500000") as server:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            future = pool.submit(server.post, "/completion", {**LONG, "n_predict": -1})
            while not any(slot["is_processing"] for slot in server.slots()):
                time.sleep(0.005)
            server.process.send_signal(signal.SIGINT)
            server.wait_for("shutting down")
            same(server.end(signal.SIGINT, 10), 130, "status")
            same(future.result()[0], 503, "the answer")


def listens_on_a_path():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "glinfer.sock")
        for _ in range(2):  # the second finds what the first, killed, left
            server = Server(GLINFER, MODEL, "--unix", path)
            same(server.get("/health")[0], 200, "by a path")
            server.process.kill()
            server.process.wait()
        with Server(GLINFER, MODEL, "--unix", path) as server:
            same(server.end(), 0, "status")
        true(not os.path.exists(path), "the path is gone")


def takes_systemd_s_socket():
    listener = socket.create_server(("127.0.0.1", 0))
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        path = os.path.join(folder, "notify")
        manager.bind(path)
        manager.settimeout(30)
        script = f'exec 3<&{listener.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 NOTIFY_SOCKET={path} exec {GLINFER} serve -m {MODEL}'
        process = subprocess.Popen(["bash", "-c", script], pass_fds=[listener.fileno()], stderr=subprocess.DEVNULL)
        same(manager.recv(100), b"READY=1", "told when it is ready")
        with socket.create_connection(listener.getsockname(), 30) as raw:
            raw.sendall(b"GET /health HTTP/1.0\r\n\r\n")
            true(raw.recv(100).startswith(b"HTTP/1."), "by the socket")
        process.terminate()
        same(manager.recv(100), b"STOPPING=1", "told when it ends")
        same(process.wait(30), 0, "status")
    listener.close()


def goes_on_after_a_lost_device():
    plain = {**LONG, "n_predict": 30, "return_tokens": True}
    with Server(GLINFER, MODEL) as server:
        wanted = server.ask("/completion", **plain)["tokens"]
    with Server(GLINFER, MODEL, env={"GLINFER_FAULT": "lost:EMBED_*:20"}) as server:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda _: server.ask("/completion", **plain), range(2)))
        same([answer["tokens"] for answer in answers], [wanted] * 2, "tokens")
        server.wait_for("recovering")


def answers_at_once_go_on_after_a_lost_device():
    def ask_all(server):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            return list(pool.map(lambda seed: server.ask("/completion", prompt="Once upon" + " a" * seed, n_predict=80, seed=seed, temperature=seed % 2,
                                                         ignore_eos=True, return_tokens=True, cache_prompt=False)["tokens"], range(3)))

    with Server(GLINFER, MODEL, "-np", "3", "-c", "256") as server:
        wanted = ask_all(server)
    for place in ("EMBED_*:12", "EMBED_*:30", "EMBED_*:60"):
        with Server(GLINFER, MODEL, "-np", "3", "-c", "256", env={"GLINFER_FAULT": f"lost:{place}"}) as server:
            same(ask_all(server), wanted, place)
            server.wait_for("recovering", 5)


def refuses_to_start():
    for flags in (["-m", "/nowhere.gguf"], ["-m", MODEL, "--port", "70000"], ["-m", MODEL, "--host", "no.such.host.invalid"],
                  ["-m", MODEL, "--unix", "/nowhere/x.sock"], ["-m", MODEL, "--api-key-file", "/nowhere"]):
        run = subprocess.run([GLINFER, "serve", *flags], stderr=subprocess.PIPE, timeout=60)
        true(run.returncode in (1, 2) and run.stderr.startswith(b"glinfer: "), f"{flags}: {run.stderr}")


ALONE = [tells_a_thought_that_the_template_opens, calls_tools_as_the_template_does, calls_tools_in_a_list, calls_tools_in_the_forms_of_families, takes_variables_of_the_template, answers_with_tokens_of_the_vocabulary_alone, saves_slots, warns_of_a_foreign_template, says_503_when_full, asks_for_keys, lets_pages_of_others_ask_only_if_told, drains, tells_the_place_in_the_queue, serves_who_has_said_all, ends_at_the_second_signal,
         listens_on_a_path, takes_systemd_s_socket, goes_on_after_a_lost_device, answers_at_once_go_on_after_a_lost_device, refuses_to_start]


def main():
    server = start_or_skip(GLINFER, MODEL, "-np", "2", "--metrics", "--max-body", "1M")
    wanted = sys.argv[3:] or [test.__name__ for test in SHARED + ALONE]
    with server:
        succeeded = [try_out(test, server) for test in SHARED if test.__name__ in wanted]
    succeeded += [try_out(test) for test in ALONE if test.__name__ in wanted]
    sys.exit(0 if all(succeeded) else 1)


main()
