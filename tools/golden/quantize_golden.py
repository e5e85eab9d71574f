#!/usr/bin/env python3
"""Writes tests/unit/data/quantize.golden: rows of 64 floats and their bytes as PyPI gguf quantises them.

    quantize_golden.py OUT.golden

Lines of words: "row HEX ..." (bits of f32), then for each type "NAME HEX", its bytes.
"""
import sys
from importlib.metadata import version

import numpy as np
from gguf import GGMLQuantizationType, quants

TYPES = ["f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"]
N = 64


def rows():
    random = np.random.Generator(np.random.PCG64(3))
    normal = random.normal(0, 1, N)
    for scale in (0.02, 1, 300, 1e-5, 1e-8):
        yield random.normal(0, scale, N)
    yield np.zeros(N)
    yield np.full(N, -0.75)
    yield np.abs(normal) + 2  # far from zero
    yield np.where(np.arange(N) == 5, -40, normal / 50)  # an outlier
    yield (np.arange(N) - 32) / 16  # ties
    yield np.round(normal * 8) / 8  # several largest ones


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write(f"# PyPI gguf {version('gguf')}, numpy {np.__version__}: tools/golden/quantize_golden.py\n")
        for row in rows():
            row = row.astype(np.float32).reshape(1, N)
            out.write("row " + " ".join(f"{w:08x}" for w in row.reshape(-1).view(np.uint32)) + "\n")
            for name in TYPES:
                packed = quants.quantize(row, GGMLQuantizationType[name.upper()])
                out.write(f"{name} {packed.tobytes().hex()}\n")


if __name__ == "__main__":
    main()
