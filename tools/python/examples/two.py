"""two.py MODEL TEXT TEXT: continues two texts at once in an event loop, which stays free for other work."""
import asyncio
import sys

import glinfer

async def main():
    sessions = glinfer.load(sys.argv[1]).sessions(2)
    answers = [s.generate(text, n_predict=32) for s, text in zip(sessions, sys.argv[2:])]
    for text in await asyncio.gather(*(answer.read_async() for answer in answers)):
        print(text)

asyncio.run(main())
