"""chat.py MODEL: answers the lines of stdin, each in the light of those before."""
import sys

import glinfer

chat = glinfer.Chat(glinfer.load(sys.argv[1]), system="Be brief.", n_predict=64)
for line in sys.stdin:
    for piece in chat.send(line.strip()):
        print(piece, end="", flush=True)
    print()
