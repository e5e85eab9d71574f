#!/usr/bin/env python3
"""What clients of llama-server rely on, over real sockets.

    protocols_test.py GLINFER MODEL [NAME...]

MODEL is tests/data/models/tiny-chat.gguf. Names choose tests. Status 77: no device available.
"""
import datetime
import sys

from serving import Server, same, start_or_skip, true, try_out

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


SHARED = [tells_of_a_prompt_that_is_too_long, takes_many_inputs, writes_prompts_that_go_round]
ALONE = [gives_templates_what_they_ask_for, chats_with_a_base_model]


def main():
    server = start_or_skip(GLINFER, MODEL, "-np", "2", "-c", "512", "--queue", "8", "--pooling", "mean")
    wanted = sys.argv[3:] or [test.__name__ for test in SHARED + ALONE]
    with server:
        succeeded = [try_out(test, server) for test in SHARED if test.__name__ in wanted]
    succeeded += [try_out(test) for test in ALONE if test.__name__ in wanted]
    sys.exit(0 if all(succeeded) else 1)


main()
