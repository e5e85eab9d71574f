#!/usr/bin/env python3
"""LoRA adapters of `glinfer serve`: scales by default, of a request, and of requests at the same time.

    lora_test.py GLINFER MODEL

Beside MODEL lie tiny-q4_0.gguf and its adapters. Status 77: no device available.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

from serving import Server, same, start_or_skip, true, try_out

GLINFER = sys.argv[1]
FOLDER = os.path.dirname(sys.argv[2])
MODEL = os.path.join(FOLDER, "tiny-q4_0.gguf")
FIRST, SECOND = (os.path.join(FOLDER, f"tiny-q4_0-{rank}.lora") for rank in (4, 16))
PROMPT = [74, 103, 288, 113, 268, 270, 110, 102]
PLAIN = {"prompt": PROMPT, "n_predict": 8, "temperature": 0, "ignore_eos": True, "return_tokens": True}


def lora(*scales):
    return [{"id": i, "scale": scale} for i, scale in enumerate(scales)]


def tokens(server, **fields):
    return server.ask("/completion", **{**PLAIN, **fields})["tokens"]


def tokens_of_run(*flags):
    run = subprocess.run([GLINFER, "run", "-m", MODEL, "--raw", "-p", "Hello world", "-n", "8", "--temp", "0", "--json", *flags],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    answer = json.loads(run.stdout)
    same(answer["prompt_tokens"], PROMPT, "prompt")
    return answer["tokens"]


def takes_scales(server):
    off, first, both = (tokens_of_run("--lora-scaled", f"{FIRST}:{a},{SECOND}:{b}") for a, b in ((0, 0), (1, 0), (1, 0.5)))
    true(off != first != both != off, "adapters change the answer")
    same(server.get("/lora-adapters")[2], [{"id": 0, "path": FIRST, "scale": 1}, {"id": 1, "path": SECOND, "scale": 0}], "at first")
    same(tokens(server), first, "by default")
    for scales, wanted in (((0, 0), off), ((1, 0.5), both), ((1,), first), ((1, 0.5), both)):
        same(tokens(server, lora=lora(*scales)), wanted, f"of a request: {scales}")
    same(server.ask("/completion", **PLAIN, lora=lora(1, 0.5))["timings"]["cache_n"], len(PROMPT) - 1, "kept of the same scales")
    same(tokens(server, lora=[]), off, "none")
    same(server.post("/lora-adapters", lora(1, 0.5))[:1], (200,), "set")
    same([a["scale"] for a in server.get("/lora-adapters")[2]], [1, 0.5], "then")
    same(tokens(server), both, "by default")


def answers_at_once_have_scales_of_their_own(server):
    scales = [(0, 0), (1, 0), (0, 1), (1, 0.5)] * 3
    wanted = [tokens(server, lora=lora(*s), n_predict=40) for s in scales[:4]] * 3
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda s: tokens(server, lora=lora(*s), n_predict=40), scales))
    same(found, wanted, "tokens")


def refuses_others(server):
    for bad in ({"id": 0}, [{"id": 2, "scale": 1}], [{"id": -1, "scale": 1}], [{"id": 0, "scale": "x"}], [{"scale": 1}], [{"id": 0, "scale": 101}], [{"id": 0, "scale": -1e30}], {}, [1]):
        same(server.post("/completion", {**PLAIN, "lora": bad})[0], 400, bad)
        same(server.post("/lora-adapters", bad)[0], 400, bad)
    same(server.get("/lora-adapters")[0], 200, "still there")


def names_the_reason_without_adapters(reason, *flags):
    with Server(GLINFER, MODEL, "-c", "256", *flags) as server:
        status, _, body = server.post("/lora-adapters", lora(1))
        same((status, reason in body["error"]["message"]), (400, True), body)


def main():
    server = start_or_skip(GLINFER, MODEL, "-np", "4", "-c", "256", "--lora", FIRST, "--lora-scaled", SECOND + ":0")
    with server:
        done = [try_out(test, server) for test in (takes_scales, answers_at_once_have_scales_of_their_own, refuses_others)]
    done += [try_out(names_the_reason_without_adapters, "which --lora gives it"),
             try_out(names_the_reason_without_adapters, "--lora-merge added the adapter", "--lora", FIRST, "--lora-merge")]
    sys.exit(0 if all(done) else 1)


main()
