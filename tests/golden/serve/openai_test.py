#!/usr/bin/env python3
"""PyPI's openai client against `glinfer serve`, as a program written for OpenAI's API uses it.

    openai_test.py GLINFER MODEL

Works with openai 1.109.1 and 3.54.0. Status 77: there is no such package, or no device.
"""
import json
import os
import sys

sys.path.insert(0, os.environ.get("GLINFER_TEST_PYTHON", ""))  # before what the machine has of the same names
try:
    import openai
except ImportError:
    print("there is no PyPI openai")
    sys.exit(77)

from serving import Server

HI = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "hi there"}]}]
CITY = {"type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"],
        "additionalProperties": False}


def chats(client, model):
    answer = client.chat.completions.create(model=model, messages=HI, max_tokens=8, temperature=0.5, seed=1, user="me",
                                            frequency_penalty=0.1, presence_penalty=0.1, logit_bias={"5": -100}, top_p=0.9)
    assert answer.choices[0].message.role == "assistant" and answer.usage.completion_tokens <= 8
    assert answer.choices[0].finish_reason in ("length", "stop")


def streams(client, model):
    with client.chat.completions.create(model=model, messages=HI, max_completion_tokens=8, stream=True, seed=1,
                                        stream_options={"include_usage": True}) as stream:
        chunks = list(stream)
    assert chunks[-1].usage.completion_tokens <= 8 and not chunks[-1].choices
    whole = client.chat.completions.create(model=model, messages=HI, max_completion_tokens=8, seed=1)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content, (text, whole)


def tells_logprobs(client, model):
    answer = client.chat.completions.create(model=model, messages=HI, max_tokens=4, logprobs=True, top_logprobs=2, n=2)
    for choice in answer.choices:
        assert all(len(token.top_logprobs) == 2 and bytes(token.bytes) is not None for token in choice.logprobs.content)
    answer = client.completions.create(model=model, prompt="Once", max_tokens=4, logprobs=2)
    assert len(answer.choices[0].logprobs.token_logprobs) == 4


def keeps_to_schemas(client, model):
    answer = client.chat.completions.create(model=model, messages=HI, max_tokens=400, seed=1, response_format={
        "type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": CITY}})
    assert json.loads(answer.choices[0].message.content)["city"] in ("Oslo", "Rome")


def calls_tools(client, model):
    tools = [{"type": "function", "function": {"name": "weather", "parameters": CITY}}]
    choice = {"type": "function", "function": {"name": "weather"}}
    asked = {"model": model, "messages": HI, "tools": tools, "tool_choice": choice, "parallel_tool_calls": False, "max_tokens": 400, "seed": 1}
    message = client.chat.completions.create(**asked).choices[0].message
    assert json.loads(message.tool_calls[0].function.arguments)["city"] in ("Oslo", "Rome")
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"}
    asked.update(messages=HI + [message, result], tool_choice="auto", max_tokens=4)
    assert client.chat.completions.create(**asked).choices[0].message.role == "assistant"
    asked.update(tool_choice=choice, max_tokens=400, stream=True)
    calls = [call for chunk in client.chat.completions.create(**asked) for call in chunk.choices[0].delta.tool_calls or []]
    assert calls[0].function.name == "weather" and calls[0].index == 0


def raises_errors(client, model):
    try:
        client.chat.completions.create(model=model, messages=HI, temperature=-1)
        assert False
    except openai.BadRequestError as error:
        assert "temperature" in error.message, error
    try:
        client.embeddings.create(model=model, input="x")
        assert False
    except openai.APIStatusError as error:
        assert error.status_code == 501
    try:
        client.with_options(api_key="wrong").models.list()
        assert False
    except openai.AuthenticationError:
        pass


def main():
    try:
        server = Server(sys.argv[1], sys.argv[2], "--api-key", "secret", "-c", "2048")
    except RuntimeError as problem:
        print(problem)
        sys.exit(77 if "no usable GPU" in str(problem) or "without libmicrohttpd" in str(problem) else 1)
    with server:
        client = openai.OpenAI(base_url=f"http://{server.host}:{server.port}/v1", api_key="secret", max_retries=0, timeout=60)
        model = client.models.list().data[0].id
        assert client.models.retrieve(model).id == model
        for test in (chats, streams, tells_logprobs, keeps_to_schemas, calls_tools, raises_errors):
            test(client, model)
            print("ok", test.__name__, flush=True)


main()
