#!/usr/bin/env python3
"""What clients of llama-server rely on, over real sockets.

    protocols_test.py GLINFER MODEL [NAME...]

MODEL is tests/data/models/tiny-chat.gguf. Names choose tests. Status 77: no device available.
"""
import datetime
import json
import math
import os
import sys
import tempfile
import threading
import time

from serving import Server, same, start_or_skip, true, try_out, write_with_template

GLINFER, MODEL = sys.argv[1:3]
HI = [{"role": "user", "content": "hi there"}]


def tells_of_a_prompt_that_is_too_long(server):
    long = "word " * 2000
    for path, body in (("/completion", {"prompt": long}), ("/v1/completions", {"prompt": long}),
                       ("/v1/chat/completions", {"messages": [{"role": "user", "content": long}]}),
                       ("/v1/chat/completions", {"messages": [{"role": "user", "content": long}], "stream": True}),
                       ("/v1/embeddings", {"input": ["short", long]})):
        status, _, answer = server.post(path, body)
        error = answer["error"]
        same((status, error["type"], error["code"], error["n_ctx"]), (400, "exceed_context_size_error", 400, 512), path)
        true(error["n_prompt_tokens"] > 512 and f"({error['n_prompt_tokens']} tokens)" in error["message"], error)
        true("exceeds the available context size" in error["message"] and "too large" in error["message"], error)


def takes_many_inputs(server):
    told = server.ask("/v1/embeddings", input=["a"] * 200)
    same([item["index"] for item in told["data"]], list(range(200)), "all in order")
    same(server.post("/v1/embeddings", {"input": ["a"] * 8193})[0], 400, "too many")
    same(server.post("/completion", {"prompt": ["a"] * 65, "n_predict": 1})[0], 400, "too many answers")


def writes_prompts_that_go_round(server):
    messages = [{"role": "system", "content": "Be brief."}, *HI]
    prompt = server.ask("/apply-template", messages=messages)["prompt"]
    n = server.ask("/v1/chat/completions", messages=messages, max_tokens=1)["usage"]["prompt_tokens"]
    same(server.ask("/completion", prompt=prompt, n_predict=1)["tokens_evaluated"], n, "the tokens of a chat")
    for path in ("/chat/completions/input_tokens", "/v1/chat/completions/input_tokens"):
        same(server.ask(path, messages=messages), {"input_tokens": n, "object": "response.input_tokens"}, path)
    same(server.post("/chat/completions/input_tokens", {})[0], 400, "no messages")


def takes_prompts_that_are_objects(server):
    def ask(prompt, **fields):
        answer = server.ask("/completion", prompt=prompt, n_predict=4, temperature=0, ignore_eos=True, **fields)
        return answer["content"] if isinstance(answer, dict) else [item["content"] for item in answer]

    wanted = ask("Once upon")
    parts = {"content": [{"type": "text", "text": "Once "}, {"type": "text", "text": "upon"}]}
    same([ask({"prompt_string": "Once upon"}), ask(parts), ask([{"prompt_string": "Once upon"}, "Once upon"])], [wanted, wanted, [wanted] * 2], "objects")
    same(ask("Once upon", n_cmpl=2), [wanted] * 2, "n_cmpl")
    vectors = [item["embedding"] for item in server.ask("/v1/embeddings", input=["Once upon", {"prompt_string": "Once upon"}, parts])["data"]]
    same(vectors[1:], vectors[:1] * 2, "embeddings")
    same(server.post("/v1/embeddings", {"input": {"content": "x"}})[0], 400, "a content that is not a list")


def clamps_what_llama_server_clamps(server):
    for fields in ({"temperature": -1}, {"top_k": -5}, {"top_p": 2}, {"min_p": -1}, {"typical_p": 1.5}, {"xtc_threshold": 2}, {"dynatemp_range": -1},
                   {"samplers": ["top_k", "tfs_z", "infill", "temperature"]}, {"stop": ["x"] * 100}, {"grammar": 'root ::= "a"', "json_schema": {"type": "null"}},
                   {"reasoning_format": "deepseek-legacy"}, {"response_format": {"type": "json_schema"}, "n_predict": 0}):
        server.ask("/completion", **{"prompt": "x", "n_predict": 1, **fields})
    tool = [{"role": "tool", "tool_call_id": "a", "content": None}]
    server.ask("/v1/chat/completions", messages=[*HI, *tool, {"role": "user", "content": None}], max_tokens=1)


def tells_how_an_answer_was_made(server):
    def ask(**fields):
        return server.ask("/completion", prompt="Once upon", n_predict=4, **fields)

    told = ask(ignore_eos=True)
    settings = told["generation_settings"]
    true(settings["logit_bias"] and {item["bias"] for item in settings["logit_bias"]} == {None}, settings["logit_bias"])
    same(ask()["generation_settings"]["logit_bias"], [], "no bias")
    same(ask(logit_bias=[[5, 1.5], [6, False]])["generation_settings"]["logit_bias"], [{"token": 5, "bias": 1.5}, {"token": 6, "bias": None}], "biases")
    same((settings["max_tokens"], settings["samplers"][0], settings["dry_sequence_breakers"][1], settings["grammar"]), (4, "penalties", ":", ""), "settings")
    true(told["prompt"].endswith("Once upon"), told["prompt"])
    told = ask(response_fields=["content", "generation_settings/n_predict", "prompt", "nothing", "a/b"])
    same((sorted(told), told["generation_settings/n_predict"]), (["content", "generation_settings/n_predict", "prompt"], 4), "chosen fields")
    events = list(server.stream("/completion", prompt="Once upon", n_predict=4, response_fields=["stop"]))
    same((events[-1], "content" in events[0]), ({"stop": True}, True), "the last event")
    chat = server.ask("/v1/chat/completions", messages=HI, max_tokens=2, verbose=True)
    true("hi there" in chat["__verbose"]["prompt"] and chat["system_fingerprint"].startswith("b"), chat)
    true("__verbose" not in server.ask("/v1/chat/completions", messages=HI, max_tokens=2), "only if asked for")


def tells_the_probabilities_of_a_choice(server):
    def ask(**fields):
        return server.ask("/completion", prompt="Once upon", n_predict=4, n_probs=10, post_sampling_probs=True, ignore_eos=True, seed=1, **fields)

    plain = server.ask("/completion", prompt="Once upon", n_predict=1, n_probs=10, seed=1)["completion_probabilities"][0]["top_logprobs"]
    for settings in ({}, {"temperature": 0}, {"top_k": 3}, {"top_p": 0.2}, {"min_p": 0.9}, {"temperature": 3.0, "top_k": 5, "top_p": 1, "min_p": 0}):
        told = ask(**settings)["completion_probabilities"]
        for token in told:
            top = [item["prob"] for item in token["top_probs"]]
            true(0 < token["prob"] <= 1 and top == sorted(top, reverse=True) and min(top) > 0, token)
            true(len(top) == 10 or abs(sum(top) - 1) < 1e-3, top)
            true(len(top) == 10 or token["id"] in [item["id"] for item in token["top_probs"]], "one of those that were left")
    heat = [math.exp(item["logprob"] / 3) for item in plain[:5]]
    for item, wanted in zip(told[0]["top_probs"], heat):
        true(abs(item["prob"] - wanted / sum(heat)) < 1e-4, "the temperature")


def ends_long_thoughts():
    template = "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}<think>{% endif %}"
    body = {"messages": HI, "max_tokens": 40, "ignore_eos": True, "seed": 3, "temperature": 1}
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "thinks.gguf")
        write_with_template(MODEL, template, model)

        def ask(server, **fields):
            answer = server.ask("/v1/chat/completions", **body, **fields)
            return answer["choices"][0]["message"], answer["usage"]["completion_tokens"], answer["timings"]

        with Server(GLINFER, model, "-np", "2", "--reasoning-budget", "10", "--reasoning-budget-message", " Enough.") as server:
            free, n, _ = ask(server, reasoning_budget_tokens=1000)
            same((free["content"], n), ("", 40), "a thought that does not end")
            for slot in (0, 1):
                message, n, timings = ask(server, id_slot=slot)
                thought = message["reasoning_content"]
                true(thought.endswith(" Enough.") and free["reasoning_content"].startswith(thought.removesuffix(" Enough.")), message)
                true(message["content"] and n == 40 and timings["predicted_n"] == 40 and timings["prompt_n"] + timings["cache_n"] > 2, message)
            chunks = [event["choices"][0]["delta"] for event in server.stream("/v1/chat/completions", **body) if event != "[DONE]"]
            same(["".join(chunk.get(name) or "" for chunk in chunks) for name in ("reasoning_content", "content")], [thought, message["content"]], "streamed")
            message, _, _ = ask(server, thinking_budget_tokens=0)
            true("reasoning_content" not in message and message["content"], message)
            message, _, _ = ask(server, reasoning_budget_tokens=5, reasoning_budget_message=" So.")
            true(message["reasoning_content"].endswith(" So.") and len(message["reasoning_content"]) < len(thought), message)
            message, n, _ = ask(server, reasoning_budget_tokens=40)
            same((n, message["content"]), (40, ""), "a limit that is the answer's")
            plain = {**body, "reasoning_format": "none"}
            true("</think>" in server.ask("/v1/chat/completions", **plain)["choices"][0]["message"]["content"], "not told apart")
            same(server.post("/v1/chat/completions", {**body, "reasoning_budget_tokens": "x"})[0], 400, "no number")


def drops_old_tokens_if_told():
    body = {"prompt": "Once upon", "n_predict": 300, "ignore_eos": True, "temperature": 0}
    with Server(GLINFER, MODEL, "-c", "128", "--context-shift") as server:
        told = server.ask("/completion", **body)
        same((told["tokens_predicted"], told["truncated"], told["stop_type"]), (300, True, "limit"), "more than the context holds")
    with Server(GLINFER, MODEL, "-c", "128") as server:
        told = server.ask("/completion", **body)
        true(told["tokens_predicted"] < 128 and told["truncated"], told["tokens_predicted"])
        same(server.ask("/completion", **{**body, "n_predict": 20})["truncated"], False, "enough room")


def describes_itself(server):
    props = server.get("/props")[2]
    params = props["default_generation_settings"]["params"]
    same((params["seed"], params["max_tokens"], props["is_sleeping"], props["endpoint_metrics"], props["modalities"]["video"]),
         (7, -1, False, True, False), "props")
    true("messages" in props["chat_template"] and props["eos_token"] and props["model_ftype"] and "supports_tools" in props["chat_template_caps"], props)
    listed, = server.get("/v1/models")[2]["models"]
    same((listed["name"], "completion" in listed["capabilities"]), ("code", True), "as Ollama has it")
    model, = server.get("/v1/models")[2]["data"]
    same((model["id"], model["aliases"], model["tags"]), ("code", ["story", "code"], ["small", "fast"]), "names")
    same([server.get("/v1/models/" + name)[0] for name in ("code", "story", "sto", "")], [200, 200, 404, 404], "a model by each name")


def counts_what_it_did(server):
    def read():
        status, headers, text = server.get("/metrics")
        true(status == 200 and abs(int(headers["Process-Start-Time-Unix"]) - time.time()) < 1000, headers)
        return {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if not line.startswith("#")}

    before = read()
    server.ask("/v1/embeddings", input=["hello world", "goodbye world"])
    after = read()
    for name, least in (("prompt_tokens_total", 4), ("n_decode_total", 2), ("prompt_seconds_total", 0)):
        true(after["llamacpp:" + name] - before["llamacpp:" + name] >= least, f"{name} of embeddings")
    server.ask("/completion", prompt="Once upon", n_predict=8, ignore_eos=True)
    last = read()
    same(last["llamacpp:tokens_predicted_total"] - after["llamacpp:tokens_predicted_total"], 8, "tokens")
    true("llamacpp:spec_decode_num_drafts_total" in last, "drafts")
    true(last["llamacpp:n_tokens_max"] > 8 and last["glinfer:answers_total"] > 0, last)
    server.wait_idle()
    for slot in server.slots():
        same((slot["next_token"][0]["n_remain"], slot["next_token"][0]["n_decoded"], slot["id_task"]), (-1, 0, -1), "an idle slot")


def streams_progress_and_timings(server):
    prompt = "Once upon a time " * 25
    for path, body in (("/completion", {"prompt": prompt}), ("/v1/completions", {"prompt": prompt}),
                       ("/v1/chat/completions", {"messages": [{"role": "user", "content": prompt}]})):
        for is_cached in (False, True):
            slot = {"cache_prompt": is_cached, "id_slot": 0}
            events = [event for event in server.stream(path, max_tokens=4, temperature=0, ignore_eos=True, return_progress=True,
                                                       timings_per_token=True, **slot, **body) if event != "[DONE]"]
            told = [event for event in events if "prompt_progress" in event]
            places = [event["prompt_progress"]["processed"] for event in told]
            progress = told[0]["prompt_progress"]
            same((places[0], places[-1]), (progress["cache"], progress["total"]), f"{path}: first and last")
            same(places, sorted(set(places)), "each tells more")
            true((progress["cache"] > 0) == is_cached, progress)
            same({type(event["prompt_progress"]["time_ms"]) for event in told}, {int}, "whole milliseconds")
            same([told[0]["timings"][name] for name in ("prompt_n", "prompt_ms", "predicted_n", "predicted_ms")], [0] * 4, "nothing yet")
            same(told[-1]["timings"]["prompt_n"], progress["total"] - progress["cache"], "all of it")
            texts = [event for event in events if event.get("content") or (event.get("choices") or [{}])[0].get("text") or
                     (event.get("choices") or [{}])[0].get("delta", {}).get("content")]
            counts = [event["timings"]["predicted_n"] for event in texts]
            true(counts == sorted(counts) and counts[-1] <= 4 and counts[0] >= 1, counts)
            if "chat" in path:
                same({(event["object"], event["model"], event["choices"][0]["index"]) for event in told},
                     {("chat.completion.chunk", "code", 0)}, "whole chunks")
    plain = list(server.stream("/completion", prompt="Once upon", n_predict=6, temperature=0, ignore_eos=True))
    same(sum((event["tokens"] for event in plain), []),
         server.ask("/completion", prompt="Once upon", n_predict=6, temperature=0, ignore_eos=True, return_tokens=True)["tokens"], "ids in a stream")
    true(not any("timings" in event for event in plain[:-1]), "only if asked for")


def keeps_silent_streams():
    def lines(server, **body):
        connection = server.connect()
        connection.request("POST", "/completion", json.dumps({"prompt": "a b c", "n_predict": 3, "stream": True, **body}))
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    with Server(GLINFER, MODEL, "-c", "4096") as server:
        for n_long in (1, 2, 4, 8):  # as many long answers before it as this machine needs a second for
            long = [threading.Thread(target=lambda: server.ask("/completion", prompt="Once", n_predict=3000, ignore_eos=True, temperature=0))
                    for _ in range(n_long)]
            for thread in long:
                thread.start()
            while not server.slots()[0]["is_processing"]:
                time.sleep(0.01)
            status, text = lines(server, sse_ping_interval=1)
            for thread in long:
                thread.join()
            if text.startswith(":"):
                break
        true(status == 200 and text.startswith(":\n\n") and "data: " in text, text[:80])
        true("\n:" not in lines(server)[1], "a stream that is quick")


def gives_templates_what_they_ask_for():
    template = ("{{ date_string }}|{{ datetime }}|{{ enable_thinking }}|{{ reasoning_effort }}|{{ messages[0].content }}"
                "{% if not enable_thinking %}</think>{% endif %}")
    today = datetime.date.today()
    dates = f"{today:%d %b %Y}|{today:%b %d %Y}|"
    with Server(GLINFER, MODEL, "--chat-template", template) as server:
        for fields, rest in (({}, "True||hi there"), ({"reasoning_effort": "low"}, "True|low|hi there"),
                             ({"reasoning_effort": "none"}, "False||hi there</think>"),
                             ({"chat_template_kwargs": {"enable_thinking": False, "reasoning_effort": "x"}, "reasoning_effort": "low"},
                              "False|x|hi there</think>")):
            same(server.ask("/apply-template", messages=HI, **fields)["prompt"], dates + rest, fields)
        same(server.ask("/apply-template", messages=HI, chat_template_kwargs={"date_string": "x"})["prompt"].split("|")[0], "x", "a date of the request")
    with Server(GLINFER, MODEL, "--chat-template", template, "--reasoning", "off", "--reasoning-effort", "high") as server:
        same(server.ask("/apply-template", messages=HI)["prompt"], dates + "False|high|hi there</think>", "flags")


def chats_with_a_base_model():
    with Server(GLINFER, MODEL.replace("tiny-chat", "tiny-q4_0")) as server:
        server.wait_for("has no chat template: chats are written as chatml")
        same(server.ask("/apply-template", messages=HI)["prompt"], "<|im_start|>user\nhi there<|im_end|>\n<|im_start|>assistant\n", "chatml")
        same(server.ask("/v1/chat/completions", messages=HI, max_tokens=2)["choices"][0]["message"]["role"], "assistant", "a chat")


# Home Assistant's integration llama_cpp, with the calls of its client (openai) written out.
WEATHER = {"type": "function", "function": {"name": "weather", "description": "The weather of a city", "strict": True, "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"], "additionalProperties": False}}}


def read_as_home_assistant(events):
    """Returns the message of a stream as the integration reads it: it stops at the finish_reason, whose chunk it does not read."""
    message, role = {"content": "", "tool_calls": []}, None
    for event in events:
        choice, = event["choices"]
        if choice["finish_reason"]:
            true(not choice["delta"].get("content") and not choice["delta"].get("tool_calls"), f"lost: {choice}")
            same(role, "assistant", "the role, once")
            return message, choice["finish_reason"]
        delta = choice["delta"]
        role = delta.get("role") or role
        message["content"] += delta.get("content") or ""
        for call in delta.get("tool_calls") or []:
            if call["index"] == len(message["tool_calls"]):
                message["tool_calls"].append({"id": call["id"], "type": call["type"], "function": {"name": call["function"]["name"], "arguments": ""}})
            message["tool_calls"][call["index"]]["function"]["arguments"] += call["function"].get("arguments") or ""
    raise AssertionError("the stream has no finish_reason")


def talks_to_home_assistant():
    with Server(GLINFER, MODEL, "--api-key", "right") as server:
        key = {"Authorization": "Bearer right"}

        def ask(body, **headers):
            status, _, answer = server.post("/v1/chat/completions", body, **(headers or key))
            return status, answer

        # Set-up.
        model = server.get("/v1/models", **key)[2]["data"][0]["id"]
        same(server.get("/v1/models", Authorization="Bearer wrong")[0], 401, "invalid_auth")
        test = {"model": model, "messages": [{"role": "system", "content": "You are a test."}, {"role": "user", "content": "Reply with OK."}], "max_tokens": 3,
                "tools": [{"type": "function", "function": {"name": "test_function", "description": "A test", "parameters": {"type": "object", "properties": {}}}}]}
        status, answer = ask(test)
        same((status, answer["choices"][0]["message"]["role"]), (200, "assistant"), "plain")
    with Server(GLINFER, MODEL, "-c", "2048") as server:
        def stream(body):
            return read_as_home_assistant(event for event in server.stream("/v1/chat/completions", **body) if event != "[DONE]")

        stream(test)
        base = {"model": model, "user": "conversation-1", "temperature": 0.4, "top_p": 0.9, "max_tokens": 200, "seed": 3}
        messages = [{"role": "system", "content": "You control a home."}, {"role": "user", "content": "hi there"}]
        told = server.ask("/v1/chat/completions", **base, messages=messages)["choices"][0]
        same(stream({**base, "messages": messages}), ({"content": told["message"]["content"], "tool_calls": []}, told["finish_reason"]), "all of the content")
        # A round of tools; the call is required, since the model is a test's.
        message, reason = stream({**base, "messages": messages, "tools": [WEATHER], "tool_choice": "required"})
        call, = message["tool_calls"]
        same((reason, call["function"]["name"], set(json.loads(call["function"]["arguments"]))), ("tool_calls", "weather", {"city"}), "the call")
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": call["id"], "content": json.dumps({"is": "sunny"})}]
        stream({**base, "messages": messages, "tools": [WEATHER]})
        # An AI task with a structure.
        schema = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"], "additionalProperties": False}
        message, _ = stream({**base, "messages": messages[:2], "response_format": {"type": "json_schema", "json_schema": {"name": "task", "schema": schema, "strict": True}}})
        same(type(json.loads(message["content"])["on"]), bool, "the structure")
        # A picture gets an error.
        picture = [{"role": "user", "content": [{"type": "text", "text": "what is it"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]
        status, _, answer = server.post("/v1/chat/completions", {**base, "messages": picture, "stream": True})
        true(status == 400 and "images" in answer["error"]["message"], answer)


SHARED = [describes_itself, counts_what_it_did, tells_of_a_prompt_that_is_too_long, takes_many_inputs, writes_prompts_that_go_round,
          streams_progress_and_timings, takes_prompts_that_are_objects, tells_how_an_answer_was_made, tells_the_probabilities_of_a_choice,
          clamps_what_llama_server_clamps]
ALONE = [ends_long_thoughts, talks_to_home_assistant, drops_old_tokens_if_told, keeps_silent_streams, gives_templates_what_they_ask_for, chats_with_a_base_model]


def main():
    server = start_or_skip(GLINFER, MODEL, "-np", "2", "-c", "512", "--queue", "8", "--pooling", "mean", "--metrics", "-s", "7",
                           "--alias", "story,code", "--tags", "small,fast")
    wanted = sys.argv[3:] or [test.__name__ for test in SHARED + ALONE]
    with server:
        succeeded = [try_out(test, server) for test in SHARED if test.__name__ in wanted]
    succeeded += [try_out(test) for test in ALONE if test.__name__ in wanted]
    sys.exit(0 if all(succeeded) else 1)


main()
