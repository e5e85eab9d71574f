#!/usr/bin/env python3
"""The prefix cache of `glinfer serve`: a prompt that begins as an earlier one did is read from there.

    prefix_test.py GLINFER MODEL

Beside MODEL lie other tiny models: with keys alone, windows, recurrent states, and both. Status 77: no device available.
"""
import os
import sys

from serving import Server, same, start_or_skip, true, try_out

GLINFER = sys.argv[1]
FOLDER = os.path.dirname(sys.argv[2])
PLAIN = {"n_predict": 6, "temperature": 0, "ignore_eos": True, "return_tokens": True}
SYSTEMS = ["You are the voice of a house. Its rooms are a kitchen, a hall and a cellar.",
           "Translate what follows into the language of sailors, word for word, please.",
           "Tools: lamp(room, on), heating(room, degrees), door(name, open). Call one at a time."]


def model(name):
    return os.path.join(FOLDER, f"tiny-{name}.gguf")


def chat(server, system, text, **fields):
    """Returns the answer's text, and the tokens of the prompt that were cached and read."""
    messages = [{"role": "system", "content": SYSTEMS[system]}, {"role": "user", "content": text}]
    answer = server.ask("/v1/chat/completions", messages=messages, max_tokens=6, temperature=0, ignore_eos=True, **fields)
    timings = answer["timings"]
    same(answer["usage"]["prompt_tokens_details"]["cached_tokens"], timings["cache_n"], "cached_tokens")
    return answer["choices"][0]["message"]["content"], timings["cache_n"], timings["prompt_n"]


def ids(first, n, seed=0):
    """Returns a prompt of n ids that begins with `first` of a kind that all prompts share."""
    return [60 + i % 37 for i in range(first)] + [60 + (i * 7 + seed * 11 + i // 5) % 90 for i in range(first, n)]


def complete(server, prompt, **fields):
    answer = server.ask("/completion", **{**PLAIN, "prompt": prompt, **fields})
    return answer["tokens"], answer["timings"]["cache_n"]


def reads_a_system_message_once(name, *flags):
    with start_or_skip(GLINFER, model(name), "-c", "512", *flags) as server:
        for system, text in ((0, "Lamp on!"), (1, "Ahoy"), (2, "Who?")):
            chat(server, system, text)
        found, cached, read = chat(server, 0, "Is it warm?")
        true(cached >= 60 and read < cached, f"{name}: {cached} cached, {read} read")
        wanted, none, _ = chat(server, 0, "Is it warm?", cache_prompt=False)
        same((found, none), (wanted, 0), f"{name}: the answer of a prompt that was read")
        same(chat(server, 2, "What?")[1] > 60, True, f"{name}: the third, too")


def counts_what_was_read(name="lfm2"):
    """Without a checkpoint where prompts differ the first repeat is read, and keeps one for the second."""
    prompts = [ids(50, 100, seed) for seed in range(3)]
    with Server(GLINFER, model(name), "-c", "512", "-ub", "32") as server:
        cached = [complete(server, prompt)[1] for prompt in prompts]
        true(cached[0] == 0 and cached[1] < 50 and cached[2] == 50, cached)
        wanted = complete(server, prompts[2], cache_prompt=False)[0]
        complete(server, prompts[0])
        same(complete(server, prompts[2])[0], wanted, "the same answer")


def keeps_to_its_limit():
    """A prompt of 600 tokens takes 450 KB: two fit in one MiB."""
    flags = ("-c", "700", "-ctk", "f32", "-ctv", "f32")
    a, b, c, d = (ids(0, 600, seed) for seed in range(4))
    with Server(GLINFER, model("q4_0"), *flags, "-cram", "1") as server:
        for prompt in (a, b, c):
            same(complete(server, prompt)[1], 0, "new")
        same(complete(server, a)[1], 599, "kept")
        for prompt in (d, b):
            complete(server, prompt)
        same(complete(server, c)[1], 0, "the least recently used one left")
    with Server(GLINFER, model("q4_0"), *flags, "-cram", "0") as server:
        same([complete(server, prompt)[1] for prompt in (a, b, a)], [0, 0, 0], "off")


def shares_between_slots():
    """The beginning of a long conversation is copied to another slot, and the conversation stays."""
    first, second = ids(80, 300, 1), ids(80, 120, 2)
    with Server(GLINFER, model("q4_0"), "-c", "512", "-np", "2", "-cram", "0") as server:
        complete(server, first)
        found, cached = complete(server, second)
        true(complete(server, first)[1] == 299, "it stayed")
        wanted = complete(server, second, cache_prompt=False)[0]
        same((found, cached), (wanted, 80), "from the other slot")


def main():
    models = (("q4_0",), ("gemma3",), ("lfm2", "-np", "2"), ("qwen35",), ("falcon_h1",))
    done = [try_out(reads_a_system_message_once, *words) for words in models]
    done += [try_out(test) for test in (counts_what_was_read, keeps_to_its_limit, shares_between_slots)]
    sys.exit(0 if all(done) else 1)


main()
