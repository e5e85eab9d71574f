#!/usr/bin/env python3
"""OpenAI's Responses API of `glinfer serve`, over real sockets.

    responses_test.py GLINFER MODEL

MODEL is tests/data/models/tiny-chat.gguf. Status 77: no device available.
"""
import json
import os
import sys
import tempfile

from serving import Server, same, start_or_skip, true, try_out, write_with_template

GLINFER, MODEL = sys.argv[1:3]
HI = [{"role": "user", "content": "hi there"}]
TOOL = {"type": "function", "name": "weather", "description": "How it is.", "strict": True, "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"], "additionalProperties": False}}
SHORT = {"temperature": 0, "max_output_tokens": 12}


def events(server, **body):
    """Returns the events of a stream, whose names and numbers have to fit."""
    connection = server.connect()
    connection.request("POST", "/v1/responses", json.dumps({**body, "stream": True}))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    same((answer.status, answer.getheader("Content-Type")), (200, "text/event-stream"), text)
    told = []
    for frame in text.split("\n\n")[:-1]:
        name, data = frame.split("\n")
        told.append(json.loads(data.removeprefix("data: ")))
        same(name, "event: " + told[-1]["type"], "the name of an event")
    same([event["sequence_number"] for event in told], list(range(len(told))), "numbers")
    return told


def check_stream(told):
    """Checks the order of the events, builds the items from their pieces, and returns the response."""
    same([event["type"] for event in told[:2]], ["response.created", "response.in_progress"], "the beginning")
    response = told[-1]["response"]
    items, pieces = [], {}
    for event in told[2:-1]:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            same((event["output_index"], event["item"]["status"]), (len(items), "in_progress"), "an item begins")
            items.append(event["item"])
        elif kind == "output_item.done":
            same(event["item"]["id"], items[-1]["id"], "an item ends")
            items[-1] = event["item"]
        elif "prompt_progress" not in event:
            same((event["item_id"], event["output_index"]), (items[-1]["id"], len(items) - 1), "an event of the item")
            if kind.endswith(".delta"):
                pieces[event["item_id"]] = pieces.get(event["item_id"], "") + event["delta"]
            if kind in ("output_text.done", "reasoning_text.done"):
                same(event["text"], pieces.get(event["item_id"], ""), "the text of the pieces")
            if kind == "function_call_arguments.done":
                same(event["arguments"], pieces[event["item_id"]], "the arguments of the pieces")
    same(response["output"], items, "the items of the response")
    same(response["id"], told[0]["response"]["id"], "one response")
    return response


def answers(server):
    whole = server.ask("/v1/responses", input=HI, metadata={"a": "b"}, **SHORT)
    message, = whole["output"]
    text = server.ask("/v1/chat/completions", messages=HI, temperature=0, max_tokens=12)["choices"][0]["message"]["content"]
    same((message["type"], message["role"], message["content"][0]["type"], message["content"][0]["text"]), ("message", "assistant", "output_text", text), "as a chat")
    same((whole["object"], whole["status"], whole["incomplete_details"], whole["error"]), ("response", "incomplete", {"reason": "max_output_tokens"}, None), "cut")
    same((whole["metadata"], whole["max_output_tokens"], whole["temperature"], whole["tool_choice"], whole["tools"]), ({"a": "b"}, 12, 0, "auto", []), "echoed")
    same((whole["usage"]["output_tokens"], whole["usage"]["total_tokens"] - whole["usage"]["input_tokens"]), (12, 12), "usage")
    true(whole["id"].startswith("resp_") and message["id"].startswith("msg_"), whole["id"])
    for body in ({"input": HI}, {"input": "hi there"}, {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi there"}]}]}):
        response = check_stream(events(server, **body, **SHORT))
        same([item["content"] for item in response["output"]], [message["content"]], body)
        same((response["status"], response["usage"]["output_tokens"]), ("incomplete", 12), "the last event")
    told = events(server, input="hi there", timings_per_token=True, return_progress=True, **SHORT)
    true(any("prompt_progress" in event and event["type"] == "response.in_progress" for event in told), "progress")
    true(all("timings" in event for event in told if event["type"].endswith("text.delta")) and "timings" in told[-1], "timings")


def reads_conversations(server):
    def count(**body):
        return server.ask("/v1/responses/input_tokens", **body)["input_tokens"]

    def count_chat(*messages, **body):
        return server.ask("/v1/chat/completions/input_tokens", messages=messages, **body)["input_tokens"]

    user, system = HI[0], {"role": "system", "content": "Be brief."}
    same(count(input="hi there", instructions="Be brief."), count_chat(system, user), "instructions")
    same(count(input=[{"role": "developer", "content": "x"}, user], instructions="Be brief."), count_chat({"role": "system", "content": "Be brief.\n\nx"}, user), "both")
    call = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
    items = [user, {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
             {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "let me see", "annotations": []}]},
             {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "weather", "arguments": '{"city":"Oslo"}', "status": "completed"},
             {"type": "function_call_output", "call_id": "a", "output": "sunny"}]
    tool = {"type": "function", "function": {name: value for name, value in TOOL.items() if name != "type"}}
    same(count(input=items, tools=[TOOL]),
         count_chat(user, {"role": "assistant", "content": "let me see", "reasoning_content": "hm", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "a", "content": "sunny"}, tools=[tool]), "a round of tools")
    same(server.ask("/responses", input=items, tools=[TOOL], **SHORT)["object"], "response", "the shorter path")


def calls_tools(server):
    body = {"input": HI, "tools": [TOOL], "tool_choice": "required", "max_output_tokens": 200, "seed": 3}
    whole = server.ask("/v1/responses", **body)
    call, = whole["output"]
    same((call["type"], call["name"], call["status"], set(json.loads(call["arguments"]))), ("function_call", "weather", "completed", {"city"}), "a call")
    same((whole["status"], whole["tools"], whole["tool_choice"]), ("completed", [TOOL], "required"), "as requested")
    response = check_stream(events(server, **body))
    same([{**item, "id": "", "call_id": ""} for item in response["output"]], [{**call, "id": "", "call_id": ""}], "streamed")
    true(any(event["type"] == "response.function_call_arguments.done" for event in events(server, **{**body, "tool_choice": {"type": "function", "name": "weather"}})), "by its name")


def keeps_to_a_shape(server):
    schema = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"], "additionalProperties": False}
    told = server.ask("/v1/responses", input="hi", max_output_tokens=100, text={"format": {"type": "json_schema", "name": "x", "strict": True, "schema": schema}})
    same(type(json.loads(told["output"][0]["content"][0]["text"])["on"]), bool, "a schema")


def refuses_what_it_does_not_know(server):
    for body, part in [({}, 'missing "input"'), ({"input": 5}, "input"), ({"input": [5]}, 'input[0]'), ({"input": [*HI, {"type": "zzz"}]}, '"input[1]": unknown type "zzz"'),
                       ({"input": [{"type": "item_reference", "id": "x"}]}, "item_reference"), ({"input": [{"role": "user"}]}, "input[0]"),
                       ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}]}, "images"),
                       ({"input": [{"type": "function_call", "name": "x"}]}, "call_id"), ({"input": [{"type": "function_call_output", "output": "x"}]}, "call_id"),
                       ({"input": "x", "tools": [{"type": "web_search"}]}, "web_search"), ({"input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
                       ({"input": "x", "background": True}, "background"), ({"input": "x", "tools": 5}, "tools"), ({"input": "x", "text": 5, "reasoning": 5, "max_output_tokens": "x"}, "max_tokens")]:
        for stream in (False, True):
            status, _, answer = server.post("/v1/responses", {**body, "stream": stream})
            true(status == 400 and answer["error"]["type"] == "invalid_request_error" and part in answer["error"]["message"], f"{body}: {status} {answer}")


def tells_thoughts():
    template = "{% for m in messages %}{{ m.content }} {% endfor %}{{ reasoning_effort }}{% if add_generation_prompt %}<think>{% endif %}"
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "thinks.gguf")
        write_with_template(MODEL, template, model)
        with Server(GLINFER, model) as server:
            body = {"input": "hi there", "max_output_tokens": 40, "seed": 5}
            whole = server.ask("/v1/responses", **body)
            same(whole["output"][0]["type"], "reasoning", "a thought")
            same([item["type"] for item in check_stream(events(server, **body))["output"]][0], "reasoning", "streamed")
            same(server.ask("/responses/input_tokens", **body, reasoning={"effort": "low"})["input_tokens"] > server.ask("/responses/input_tokens", **body)["input_tokens"], True, "effort")


def main():
    server = start_or_skip(GLINFER, MODEL, "-c", "1024")
    with server:
        succeeded = [try_out(test, server) for test in (answers, reads_conversations, calls_tools, keeps_to_a_shape, refuses_what_it_does_not_know)]
    succeeded += [try_out(tells_thoughts)]
    sys.exit(0 if all(succeeded) else 1)


main()
