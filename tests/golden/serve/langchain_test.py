#!/usr/bin/env python3
"""LangChain's chat model for OpenAI's API against `glinfer serve`, unchanged but for its address.

    langchain_test.py GLINFER MODEL

Written for PyPI langchain-openai 1.7.3. Status 77: there is no such package, or no device.
"""
import asyncio
import os
import sys

sys.path.insert(0, os.environ.get("GLINFER_TEST_PYTHON", ""))  # before what the machine has of the same names
try:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_openai import ChatOpenAI, OpenAI
except ImportError:
    print("there is no PyPI langchain-openai")
    sys.exit(77)

from serving import Server

HI = [SystemMessage("Be brief."), HumanMessage("hi there")]
PLACE = {"title": "place", "description": "A place.", "type": "object", "properties": {
    "city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"], "additionalProperties": False}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "How it is.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"]}}}


def answers(chat):
    answer = chat.invoke(HI)
    assert isinstance(answer, AIMessage) and answer.usage_metadata["output_tokens"] <= 12
    assert answer.response_metadata["finish_reason"] in ("stop", "length")


def streams(chat):
    whole = None
    for chunk in chat.stream(HI):
        whole = chunk if whole is None else whole + chunk
    assert whole.content == chat.invoke(HI).content, whole


def answers_many(chat):
    assert len(chat.batch([HI, [HumanMessage("and you")], "plain text"])) == 3

    async def ask():
        return await asyncio.gather(chat.ainvoke(HI), chat.ainvoke("hello"))

    assert len(asyncio.run(ask())) == 2


def keeps_to_schemas(chat):
    for method in ("json_schema", "function_calling"):
        place = chat.with_structured_output(PLACE, method=method)
        assert place.invoke("Name a place.")["city"] in ("Oslo", "Rome")


def calls_tools(chat):
    bound = chat.bind_tools([WEATHER], tool_choice="weather")
    call = bound.invoke("How is it in Rome?").tool_calls[0]
    assert call["name"] == "weather" and call["args"]["city"] in ("Oslo", "Rome")
    messages = [*HI, AIMessage("", tool_calls=[call]), ToolMessage("sunny", tool_call_id=call["id"])]
    assert isinstance(chat.bind_tools([WEATHER]).invoke(messages), AIMessage)


def main():
    try:
        server = Server(sys.argv[1], sys.argv[2], "--api-key", "secret", "-c", "2048", "-np", "2")
    except RuntimeError as problem:
        print(problem)
        sys.exit(77 if "no usable GPU" in str(problem) or "without libmicrohttpd" in str(problem) else 1)
    with server:
        shared = {"base_url": f"http://{server.host}:{server.port}/v1", "api_key": "secret", "seed": 1, "max_retries": 0}
        chat = ChatOpenAI(model="tiny", max_tokens=12, temperature=0.7, **shared)
        roomy = ChatOpenAI(model="tiny", max_tokens=400, **shared)
        for test, model in ((answers, chat), (streams, chat), (answers_many, chat), (keeps_to_schemas, roomy), (calls_tools, roomy)):
            test(model)
            print("ok", test.__name__, flush=True)
        text = OpenAI(model="tiny", max_tokens=6, **shared).invoke("Once upon a time")
        assert isinstance(text, str)
        print("ok completes", flush=True)


main()
