"""overhead.py MODEL [TOKENS] [RUNS]: what a token costs in Python, beside the C interface.

Takes the shortest of RUNS answers of TOKENS tokens by glinfer_generate without a callback, by an iterated Answer, and by an
Answer in an event loop, in turns. Prints microseconds per token and the difference in percent, then the same of the
processor time of the calling thread, which other processes disturb less.
"""
import asyncio
import sys
import time
from ctypes import byref

import glinfer
from glinfer._library import call, library
from glinfer._settings import make_params

TEXT = "Once upon a time"


def main():
    tokens, runs = [int(value) for value in sys.argv[2:4] + ["256", "8"][len(sys.argv) - 2:]]
    session = glinfer.load(sys.argv[1]).session()
    settings = {"n_predict": tokens, "ignore_eos": True, "temperature": 0.0}
    prompt = session.model.tokenizer.encode(TEXT)
    session.prepare(**settings)

    def in_c():
        call(library.glinfer_generate, session, byref(make_params(prompt, settings)), None)

    def iterated():
        for _ in session.generate(prompt, **settings):
            pass

    async def in_loop():
        async for _ in session.generate(prompt, **settings):
            pass

    loop = asyncio.new_event_loop()
    best, best_cpu = {}, {}
    for _ in range(runs):
        for name, run in (("C", in_c), ("iterated", iterated), ("asyncio", lambda: loop.run_until_complete(in_loop()))):
            session.reset()
            begin, begin_cpu = time.perf_counter(), time.thread_time()
            run()
            end, end_cpu = time.perf_counter(), time.thread_time()
            best[name] = min(best.get(name, 1e9), (end - begin) / tokens * 1e6)
            best_cpu[name] = min(best_cpu.get(name, 1e9), (end_cpu - begin_cpu) / tokens * 1e6)
    for what, times in ("elapsed", best), ("processor", best_cpu):
        for name, us in times.items():
            print(f"{what:10}{name:10}{us:9.1f} us/token {us - times['C']:+8.1f} us {100 * (us / times['C'] - 1):+7.2f} %")


main()
