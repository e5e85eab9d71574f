"""complete.py MODEL TEXT: continues a text."""
import sys

import glinfer

model = glinfer.load(sys.argv[1])
answer = model.generate(sys.argv[2], n_predict=32, temperature=0.8, seed=1)
for piece in answer:
    print(piece, end="", flush=True)
print(f"\n[{len(answer.ids)} tokens]")
