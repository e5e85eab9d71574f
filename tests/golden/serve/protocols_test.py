#!/usr/bin/env python3
"""What clients of llama-server rely on, over real sockets.

    protocols_test.py GLINFER MODEL [NAME...]

MODEL is tests/data/models/tiny-chat.gguf. Names choose tests. Status 77: no device available.
"""
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


SHARED = [tells_of_a_prompt_that_is_too_long, takes_many_inputs]
ALONE = []


def main():
    server = start_or_skip(GLINFER, MODEL, "-np", "2", "-c", "512", "--queue", "8", "--pooling", "mean")
    wanted = sys.argv[3:] or [test.__name__ for test in SHARED + ALONE]
    with server:
        succeeded = [try_out(test, server) for test in SHARED if test.__name__ in wanted]
    succeeded += [try_out(test) for test in ALONE if test.__name__ in wanted]
    sys.exit(0 if all(succeeded) else 1)


main()
