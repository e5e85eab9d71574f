#!/usr/bin/env python3
"""Writes tests/unit/data/quants.golden: blocks of each weight type and their weights as PyPI gguf has them.

    quant_golden.py OUT.golden

Lines of words: "type NAME", "bytes HEX" (one block, or 32 weights of a type without blocks), "weights
HEX ..." (bits of f32). Quants are random bits, scales of both signs.
"""
import sys
import zlib
from importlib.metadata import version

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

from make_tiny_gguf import FILE_TYPES
from random_blocks import random_blocks


def block_of(name, kind):
    random = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
    if GGML_QUANT_SIZES[kind][0] == 1:
        return quants.quantize(random.standard_normal((1, 32)).astype(np.float32), kind)
    return random_blocks(random, kind, 1, GGML_QUANT_SIZES[kind][0], 1.0)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write(f"# PyPI gguf {version('gguf')}, numpy {np.__version__}: tools/golden/quant_golden.py\n")
        for name in sorted(FILE_TYPES):
            kind = GGMLQuantizationType[name.upper()]
            block = block_of(name, kind)
            weights = quants.dequantize(block, kind).astype(np.float32).reshape(-1).view(np.uint32)
            out.write(f"type {name}\nbytes {block.tobytes().hex()}\n")
            out.write("weights " + " ".join(f"{w:08x}" for w in weights) + "\n")


if __name__ == "__main__":
    main()
