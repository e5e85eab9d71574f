#!/usr/bin/env python3
"""Ollama's API of `glinfer serve`, over real sockets, as its clients and Home Assistant's integration use it.

    ollama_test.py GLINFER MODEL

MODEL is tests/data/models/tiny-chat.gguf. Status 77: no device available.
"""
import datetime
import json
import sys

from serving import Server, same, start_or_skip, true, try_out

GLINFER, MODEL = sys.argv[1:3]
NAME = "tiny-chat.gguf"
HI = [{"role": "user", "content": "hi there"}]
OPTIONS = {"temperature": 0, "num_predict": 12, "seed": 1}
TOOL = {"type": "function", "function": {"name": "weather", "description": "How it is.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"]}}}


def lines(server, path, **body):
    """Returns the objects of a stream of lines."""
    connection = server.connect()
    connection.request("POST", path, json.dumps(body))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    same((answer.status, answer.getheader("Content-Type")), (200, "application/x-ndjson"), text)
    return [json.loads(line) for line in text.split("\n")[:-1]]


def tells_its_model(server):
    model, = server.get("/api/tags")[2]["models"]
    same((model["name"], model["model"], model["details"]["format"]), (NAME, NAME, "gguf"), "tags")
    datetime.datetime.fromisoformat(model["modified_at"].replace("Z", "+00:00"))
    running, = server.get("/api/ps")[2]["models"]
    true(running["size_vram"] > 0 and running["context_length"] == 512, running)
    for asked in ({"model": NAME}, {"name": NAME + ":latest"}):
        told = server.ask("/api/show", **asked)
        same(("completion" in told["capabilities"], told["details"]), (True, model["details"]), "show")
        true(told["model_info"][told["model_info"]["general.architecture"] + ".context_length"] > 0 and "messages" in told["template"], told)
    true(server.get("/api/version")[2]["version"].count(".") == 2, "version")
    same(server.ask("/api/pull", model=NAME), {"status": "success"}, "a model that is there")


def chats(server):
    events = lines(server, "/api/chat", model=NAME, messages=HI, options=OPTIONS)
    whole = server.ask("/api/chat", model=NAME, messages=HI, options=OPTIONS, stream=False)
    same("".join(event["message"]["content"] for event in events), whole["message"]["content"], "the same text")
    same([event["done"] for event in events], [False] * (len(events) - 1) + [True], "done")
    for told in (events[-1], whole):
        same((told["model"], told["done_reason"], told["eval_count"], told["message"]["role"]), (NAME, "length", 12, "assistant"), "the end")
        true(told["prompt_eval_count"] > 5 and all(told[name] >= 0 for name in ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")), told)
        datetime.datetime.fromisoformat(told["created_at"].replace("Z", "+00:00"))
    openai = server.ask("/v1/chat/completions", messages=HI, temperature=0, max_tokens=12, seed=1)
    same(whole["message"]["content"], openai["choices"][0]["message"]["content"], "as OpenAI's")
    told = server.ask("/api/chat", model=NAME, messages=[], stream=False)
    same((told["done"], told["done_reason"]), (True, "load"), "loading")


def keeps_to_a_shape(server):
    schema = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"], "additionalProperties": False}
    options = {"num_predict": 100, "seed": 2}
    told = server.ask("/api/chat", model=NAME, messages=HI, format=schema, options=options, stream=False)
    same(type(json.loads(told["message"]["content"])["on"]), bool, "a schema")
    told = server.ask("/api/generate", model=NAME, prompt="hi", format="json", options={**options, "num_predict": 30}, stream=False)
    true(told["response"].lstrip().startswith("{"), told)


def calls_tools(server):
    grammar = {"tool_choice": "required"}  # the model is a test's: it would not call by itself
    options = {"num_predict": 200, "seed": 3}
    whole = server.ask("/api/chat", model=NAME, messages=HI, tools=[TOOL], options=options, stream=False, **grammar)
    call, = whole["message"]["tool_calls"]
    same((call["function"]["name"], set(call["function"]["arguments"])), ("weather", {"city"}), "arguments are an object")
    events = lines(server, "/api/chat", model=NAME, messages=HI, tools=[TOOL], options=options, **grammar)
    same([event["message"]["tool_calls"] for event in events if "tool_calls" in event["message"]], [[call]], "whole, in one line")
    same(events[-1]["done"], True, "before the last line")
    messages = [*HI, {"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "content": "sunny", "tool_name": "weather"}]
    same(server.ask("/api/chat", model=NAME, messages=messages, tools=[TOOL], options=OPTIONS, stream=False)["done"], True, "the result")


def generates(server):
    events = lines(server, "/api/generate", model=NAME, prompt="hi there", options=OPTIONS)
    same("".join(event["response"] for event in events),
         server.ask("/api/chat", model=NAME, messages=HI, options=OPTIONS, stream=False)["message"]["content"], "with the template")
    told = server.ask("/api/generate", model=NAME, prompt="Once upon", raw=True, options=OPTIONS, stream=False)
    same(told["response"], server.ask("/completion", prompt="Once upon", n_predict=12, temperature=0)["content"], "raw")
    told = server.ask("/api/generate", model=NAME, prompt="hi there", system="Be brief.", options=OPTIONS, stream=False)
    same(told["prompt_eval_count"], server.ask("/chat/completions/input_tokens", messages=[{"role": "system", "content": "Be brief."}, *HI])["input_tokens"], "a system text")
    same(server.ask("/api/generate", model=NAME)["done_reason"], "load", "loading")


def embeds(server):
    wanted = [item["embedding"] for item in server.ask("/v1/embeddings", input=["a", "b"])["data"]]
    told = server.ask("/api/embed", model=NAME, input=["a", "b"])
    same((told["embeddings"], told["model"], told["prompt_eval_count"] >= 2), (wanted, NAME, True), "embed")
    same(server.ask("/api/embed", model=NAME, input="a")["embeddings"], wanted[:1], "one")
    same(server.ask("/api/embeddings", model=NAME, prompt="a"), {"embedding": wanted[0]}, "the old one")
    same(len(server.ask("/api/embed", model=NAME, input="word " * 2000)["embeddings"]), 1, "a text that is cut")
    same(server.post("/v1/embeddings", {"input": "word " * 2000, "truncate": True})[0], 400, "by Ollama's API alone")
    status, _, answer = server.post("/api/embed", {"model": NAME, "input": "word " * 2000, "truncate": False})
    true(status == 400 and "exceeds" in answer["error"], answer)


def refuses_in_its_own_way(server):
    picture = [{"role": "user", "content": "what is it", "images": ["AAAA"]}]
    for path, body, status, part in [
            ("/api/chat", {"messages": HI}, 400, "model is required"), ("/api/generate", {"prompt": "x"}, 400, "model is required"),
            ("/api/embed", {"input": "x"}, 400, "model is required"), ("/api/show", {}, 400, "model is required"),
            ("/api/chat", {"model": "llama3", "messages": HI}, 404, "'llama3' not found"), ("/api/pull", {"model": "llama3"}, 404, "not found"),
            ("/api/chat", {"model": NAME, "messages": picture}, 400, "images"), ("/api/generate", {"model": NAME, "prompt": "x", "images": ["AAAA"]}, 400, "images"),
            ("/api/chat", {"model": NAME, "messages": [{"role": "assistant", "content": "x", "tool_calls": [5]}], "n": 2, "tools": 5}, 400, "tools"),
            ("/api/chat", {"model": NAME, "messages": 5}, 400, "messages"), ("/api/chat", {"model": NAME, "messages": [5]}, 400, "role"),
            ("/api/chat", {"model": NAME, "messages": HI, "options": {"temperature": "hot"}}, 400, "temperature"),
            ("/api/chat", {"model": NAME, "messages": HI, "options": 5, "format": 5, "think": 5, "tools": 5}, 400, "tools"),
            ("/api/chat", {"model": NAME, "messages": HI, "format": {"type": "hiccup"}}, 400, "hiccup"),
            ("/api/generate", {"model": NAME, "prompt": 5}, 400, "content"), ("/api/generate", {"model": NAME, "prompt": "x", "suffix": "y"}, 400, "suffix"),
            ("/api/create", {"model": "x"}, 404, "unknown path")]:
        found, _, answer = server.post(path, body)
        true(found == status and list(answer) == ["error"] and part in answer["error"], f"{path} {body}: {found} {answer}")
    same(server.post("/api/chat", "{")[2]["error"].split(":")[0], "invalid request body", "no JSON")


def thinks():
    template = "{% if enable_thinking %}it may think at length {% endif %}|{{ reasoning_effort }}|{{ messages[0].content }}{% if add_generation_prompt %}<think>{% endif %}"
    with Server(GLINFER, MODEL, "--chat-template", template) as server:
        count = lambda **fields: server.ask("/api/chat", model=NAME, messages=HI, options=OPTIONS, stream=False, **fields)
        options = {"num_predict": 60, "seed": 5}
        told = server.ask("/api/chat", model=NAME, messages=HI, options=options, stream=False)["message"]
        streamed = lines(server, "/api/chat", model=NAME, messages=HI, options=options)
        thought = "".join(event["message"].get("thinking", "") for event in streamed)
        true(thought and thought == told["thinking"], told)
        same(count(think="low")["prompt_eval_count"] - count(think="")["prompt_eval_count"] > 0, True, "effort")
        true(count(think=False)["prompt_eval_count"] != count(think=True)["prompt_eval_count"], "on and off")
        true("thinking" in server.ask("/api/show", model=NAME)["capabilities"], "capability")


def main():
    server = start_or_skip(GLINFER, MODEL, "-c", "512", "--pooling", "mean")
    with server:
        succeeded = [try_out(test, server) for test in (tells_its_model, chats, keeps_to_a_shape, calls_tools, generates, embeds, refuses_in_its_own_way)]
    succeeded += [try_out(thinks)]
    sys.exit(0 if all(succeeded) else 1)


main()
