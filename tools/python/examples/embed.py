"""embed.py MODEL QUERY TEXT...: lists texts, those most like the query first."""
import sys

import glinfer

model = glinfer.load(sys.argv[1])
query, *rows = model.embed(sys.argv[2:])
cosines = [sum(a * b for a, b in zip(query, row)) for row in rows]
for cosine, text in sorted(zip(cosines, sys.argv[3:]), reverse=True):
    print(f"{cosine:.3f} {text}")
