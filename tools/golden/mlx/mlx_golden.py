#!/usr/bin/env python3
"""Writes tests/unit/data/mlx.golden: a row of each format of weights of MLX, and the weights as PyPI mlx has them.

    mlx_golden.py OUT.golden

Lines of words: "format MODE BITS GROUP SCALE FACTOR", "bytes HEX" (a row of 128 weights: quants, scales, biases),
"weights HEX ..." (bits of f32). Needs PyPI mlx[cpu] and numpy.
"""
import sys
from importlib.metadata import version

import mlx.core as mx
import numpy as np

N_COLS = 128
SCALES = {"bf16": mx.bfloat16, "f16": mx.float16, "f32": mx.float32}
NVFP4_RANGE = 448 * 6  # of E4M3 and of E2M1: a global scale is divided by it


def formats():
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            yield "affine", bits, group, "bf16", None
    yield "affine", 4, 64, "f16", None
    yield "affine", 6, 32, "f32", None
    yield "mxfp4", 4, 32, "u8", None
    yield "nvfp4", 4, 16, "u8", None
    yield "nvfp4", 4, 16, "u8", 0.75
    yield "mxfp8", 8, 32, "u8", None


def bytes_of(array):
    return np.array(array.view(mx.uint8)).tobytes()


def main():
    random = np.random.Generator(np.random.PCG64(7))
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write(f"# PyPI mlx {version('mlx')}: tools/golden/mlx/mlx_golden.py\n")
        for mode, bits, group, scale, factor in formats():
            row = mx.array(random.normal(0, 0.05, (1, N_COLS)).astype(np.float32)).astype(SCALES.get(scale, mx.float32))
            extra = {"global_scale": mx.array(factor)} if factor else {}
            parts = mx.quantize(row, group, bits, mode=mode, **extra)
            floats = [part.astype(mx.float32) if mode == "affine" else part for part in parts[1:]]
            weights = mx.dequantize(parts[0], *floats, group_size=group, bits=bits, mode=mode, dtype=mx.float32, **extra)
            words = np.array(weights, np.float32).reshape(-1).view(np.uint32)
            factor = np.float32(factor / NVFP4_RANGE) if factor else 1
            out.write(f"format {mode} {bits} {group} {scale} {factor!s}\n")
            out.write(f"bytes {b''.join(map(bytes_of, parts)).hex()}\nweights " + " ".join(f"{w:08x}" for w in words) + "\n")


if __name__ == "__main__":
    main()
