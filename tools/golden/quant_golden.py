#!/usr/bin/env python3
"""Writes tests/unit/data/quants.golden and quantize.golden, as PyPI gguf dequantises and quantises, and llama.cpp
dequantises types that gguf lacks (PyPI xllamacpp).

    quant_golden.py QUANTS.golden QUANTIZE.golden

The first has rows of each weight type and their weights. Lines of words: "type NAME", "bytes HEX" (a row of 512 weights, in types without blocks of 64), "weights HEX ..." (bits of f32).
All bits are random, but scales are finite and below 2 (MXFP4: 2^65).

The second has rows of 64 floats and their bytes in types. Lines of words: "row HEX ..." (bits of f32), then for each
type "NAME HEX".
"""
import sys
import zlib
from importlib.metadata import version

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

from make_tiny_gguf import FILE_TYPES
from random_blocks import Q1_0, Q2_0, SCALES, llama_dequantize


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


QUANTIZED = ["f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"]
N_FLOATS = 64


def float_rows():
    random = np.random.Generator(np.random.PCG64(3))
    normal = random.normal(0, 1, N_FLOATS)
    for scale in (0.02, 1, 300, 1e-5, 1e-8):
        yield random.normal(0, scale, N_FLOATS)
    yield np.zeros(N_FLOATS)
    yield np.full(N_FLOATS, -0.75)
    yield np.abs(normal) + 2  # far from zero
    yield np.where(np.arange(N_FLOATS) == 5, -40, normal / 50)  # an outlier
    yield (np.arange(N_FLOATS) - 32) / 16  # ties
    yield np.round(normal * 8) / 8  # several largest ones


def write_quantized(path):
    with open(path, "w", encoding="ascii") as out:
        out.write(f"# PyPI gguf {version('gguf')}, numpy {np.__version__}: tools/golden/quant_golden.py\n")
        for row in float_rows():
            row = row.astype(np.float32).reshape(1, N_FLOATS)
            out.write("row " + " ".join(f"{w:08x}" for w in row.reshape(-1).view(np.uint32)) + "\n")
            for name in QUANTIZED:
                packed = quants.quantize(row, GGMLQuantizationType[name.upper()])
                out.write(f"{name} {packed.tobytes().hex()}\n")


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write(f"# PyPI gguf {version('gguf')}, numpy {np.__version__}: tools/golden/quant_golden.py\n")
        for name in sorted([*FILE_TYPES, "q8_m"]):
            if name == "q8_m":
                row, weights = q8_m()
            else:
                kind = GGMLQuantizationType[name.upper()]
                row = row_of(name, kind)
                weights = llama_dequantize(kind, row) if kind in (Q1_0, Q2_0) else quants.dequantize(row, kind)
            weights = weights.astype(np.float32).reshape(-1).view(np.uint32)
            out.write(f"type {name}\nbytes {row.tobytes().hex()}\n")
            out.write("weights " + " ".join(f"{w:08x}" for w in weights) + "\n")
    write_quantized(sys.argv[2])


if __name__ == "__main__":
    main()
