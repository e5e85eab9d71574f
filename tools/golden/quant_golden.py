#!/usr/bin/env python3
"""Writes tests/unit/data/quants.golden: rows of each weight type and their weights as PyPI gguf has them.

    quant_golden.py OUT.golden

Lines of words: "type NAME", "bytes HEX" (a row of 512 weights, in types without blocks of 64), "weights HEX ..." (bits of f32).
All bits are random, but scales are finite and below 2 (MXFP4: 2^65).
"""
import sys
import zlib
from importlib.metadata import version

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

from make_tiny_gguf import FILE_TYPES
from random_blocks import SCALES


def row_of(name, kind):
    block, size = GGML_QUANT_SIZES[kind]
    random = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
    row = random.integers(0, 256, (64 if block == 1 else 512 // block, size), np.uint8)
    at, minimum = SCALES.get(kind, (None, None))
    halves = [start + 1 for start in (at, minimum and minimum[0]) if start is not None]
    for byte in halves + {"iq1_m": [55], "mxfp4": [0]}.get(name, []):
        row[:, byte] &= 0xBF
    return row.reshape(1, -1)


def q8_m():
    """A row of glinfer's own type and its weights: f16 d, f16 m, 32 unsigned bytes."""
    random = np.random.Generator(np.random.PCG64(zlib.crc32(b"q8_m")))
    row = random.integers(0, 256, (16, 36), np.uint8)
    row[:, [1, 3]] &= 0xBF
    d, m = row[:, :4].copy().view(np.float16).astype(np.float32).T
    return row, row[:, 4:].astype(np.float32) * d[:, None] + m[:, None]


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write(f"# PyPI gguf {version('gguf')}, numpy {np.__version__}: tools/golden/quant_golden.py\n")
        for name in sorted([*FILE_TYPES, "q8_m"]):
            if name == "q8_m":
                row, weights = q8_m()
            else:
                kind = GGMLQuantizationType[name.upper()]
                row = row_of(name, kind)
                weights = quants.dequantize(row, kind)
            weights = weights.astype(np.float32).reshape(-1).view(np.uint32)
            out.write(f"type {name}\nbytes {row.tobytes().hex()}\n")
            out.write("weights " + " ".join(f"{w:08x}" for w in weights) + "\n")


if __name__ == "__main__":
    main()
