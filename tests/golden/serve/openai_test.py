#!/usr/bin/env python3
"""PyPI's openai client against `glinfer serve`, as a program written for OpenAI's API uses it.

    openai_test.py GLINFER MODEL

Works with openai 1.109.1 and 3.54.0. Status 77: there is no such package, or no device.
"""
import datetime
import enum
import ipaddress
import json
import os
import sys
import tempfile
import uuid
from typing import Annotated, Literal, Optional, Union

sys.path.insert(0, os.environ.get("GLINFER_TEST_PYTHON", ""))  # before what the machine has of the same names
try:
    import openai
except ImportError:
    print("there is no PyPI openai")
    sys.exit(77)
from pydantic import AfterValidator, AnyUrl, BaseModel, ConfigDict, Field, conint, conlist  # the client needs it

from serving import start_or_skip
from speech_test import make_sound, write_whisper

HI = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "hi there"}]}]
CITY = {"type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"],
        "additionalProperties": False}


def responds(client, model):
    answer = client.responses.create(model=model, input="hi there", instructions="Be brief.", max_output_tokens=8, temperature=0)
    assert answer.status == "incomplete" and answer.output[0].type == "message" and answer.usage.output_tokens == 8
    with client.responses.stream(model=model, input="hi there", instructions="Be brief.", max_output_tokens=8, temperature=0) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
    assert text == answer.output_text
    tool = {"type": "function", "name": "city", "description": "Notes a city.", "parameters": CITY, "strict": True}
    answer = client.responses.create(model=model, input="hi", tools=[tool], tool_choice="required", max_output_tokens=200)
    assert answer.output[0].type == "function_call" and set(json.loads(answer.output[0].arguments)) == {"city"}
    try:
        client.responses.create(model=model, input=[{"type": "item_reference", "id": "x"}])
        assert False, "an item that is not known"
    except openai.BadRequestError as error:
        assert "item_reference" in str(error)


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


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: conint(ge=1, le=9)


class Dog(BaseModel):
    kind: Literal["dog"]
    name: Annotated[str, Field(max_length=8)]


class Tree(BaseModel):
    value: bool
    children: Annotated[list["Tree"], Field(max_length=1)]


def check_email(text):
    name, host = text.split("@")
    assert name and "." in host and not text.isspace()
    return text


Short = Annotated[str, Field(max_length=8)]
Email = Annotated[str, AfterValidator(check_email), Field(json_schema_extra={"format": "email"}, max_length=40)]
ANSWERS = {
    "bounds": {"age": conint(ge=0, le=150), "below": conint(lt=-3, gt=-1000), "step": conint(multiple_of=5, gt=0, le=500)},
    "floats": {"p": Annotated[float, Field(ge=0, le=1)], "latitude": Annotated[float, Field(ge=-90, le=90)],
               "price": Annotated[float, Field(gt=0, lt=1e6)]},
    "sets": {"tags": Annotated[set[Colour], Field(min_length=1)], "ids": Annotated[set[conint(ge=1, le=4)], Field(max_length=3)]},
    "emails": {"email": Email, "copies": conlist(Email, max_length=2)},
    "urls": {"url": Annotated[AnyUrl, Field(max_length=60)], "other": Optional[Annotated[AnyUrl, Field(max_length=60)]]},
    "large": {"id": conint(ge=-2**63, le=2**63 - 1), "unsigned": conint(ge=2**53 + 1, le=2**64 - 1)},
    "optionals": {"a": Optional[Optional[Short]], "b": Optional[conlist(Optional[bool], max_length=3)]},
    "times": {"at": datetime.datetime, "day": datetime.date, "hour": datetime.time, "wait": datetime.timedelta},
    "ids": {"id": uuid.UUID, "address": ipaddress.IPv4Address, "other": ipaddress.IPv6Address},
    "maps": {"stock": Annotated[dict[Colour, conint(ge=0, le=9)], Field(max_length=2)]},
    "unions": {"pet": Annotated[Union[Cat, Dog], Field(discriminator="kind")], "any": Union[conint(ge=0, le=9), bool, None]},
    "patterns": {"code": Annotated[str, Field(pattern=r"^[A-Z]{2}-\d{3,5}$")], "part": Annotated[str, Field(pattern="ab?c", max_length=9)]},
    "tuples": {"point": tuple[conint(ge=0, le=99), bool, Literal["x", "y"]], "pairs": conlist(tuple[bool, bool], max_length=2)},
    "trees": {"tree": Tree},
}


def returns_pydantic_models(client, model):
    for name, fields in ANSWERS.items():
        kind = type(name, (BaseModel,), {"__annotations__": fields, "model_config": ConfigDict(extra="forbid")})
        for seed in range(2):
            answer = client.chat.completions.parse(model=model, messages=HI, max_tokens=1500, seed=seed, temperature=1, response_format=kind)
            assert isinstance(answer.choices[0].message.parsed, kind), (name, seed, answer)


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
        client.chat.completions.create(model=model, messages=HI, max_tokens=-5)
        assert False
    except openai.BadRequestError as error:
        assert "max_tokens" in error.message, error
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


def transcribes(client):
    sound = ("x.wav", make_sound(2))
    settings = {"model": "whisper-1", "file": sound, "language": "en"}
    whole = client.audio.transcriptions.create(**settings)
    assert whole.text
    *parts, last = client.audio.transcriptions.create(**settings, stream=True)
    assert last.type == "transcript.text.done" and last.text == "".join(part.delta for part in parts) == whole.text
    full = client.audio.transcriptions.create(**settings, response_format="verbose_json", prompt="a name", temperature=0,
                                              timestamp_granularities=["word", "segment"])
    assert full.language == "english" and full.segments[0].tokens and full.words[0].end >= full.words[0].start
    assert client.audio.transcriptions.create(**settings, response_format="srt").startswith("1\n00:00")
    assert client.audio.translations.create(model="whisper-1", file=sound).text
    try:
        client.audio.transcriptions.create(model="whisper-1", file=("x.txt", b"no sound"))
        raise AssertionError("a text was accepted")
    except openai.BadRequestError as problem:
        assert "not a sound file" in problem.message, problem


def main():
    server = start_or_skip(sys.argv[1], sys.argv[2], "--api-key", "secret", "-c", "2048")
    with server:
        client = openai.OpenAI(base_url=f"http://{server.host}:{server.port}/v1", api_key="secret", max_retries=0, timeout=60)
        model = client.models.list().data[0].id
        assert client.models.retrieve(model).id == model
        for test in (chats, streams, responds, tells_logprobs, keeps_to_schemas, returns_pydantic_models, calls_tools, raises_errors):
            test(client, model)
            print("ok", test.__name__, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write_whisper(f"{folder}/whisper.bin")
        with start_or_skip(sys.argv[1], None, "--speech-model", f"{folder}/whisper.bin") as server:
            try:
                transcribes(openai.OpenAI(base_url=f"http://{server.host}:{server.port}/v1", api_key="x", max_retries=0, timeout=60))
            except openai.InternalServerError as problem:  # 501 of a build that cannot read sound
                assert "this build cannot read sound" in problem.message, problem


main()
