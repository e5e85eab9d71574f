#!/usr/bin/env python3
"""Writes src/quant/iq/iq_grids.c: the grids of the IQ types in the form that kernels read.

    iq_grids.py OUT.c

A grid is a list of points of 8 or 4 coordinates, in ascending order as numbers with the first
coordinate lowest. They are facts of the GGUF format, taken from PyPI gguf.
"""
import sys
from textwrap import fill

from gguf import quants

GRIDS = ["IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S"]


def pack_point(codes):
    """16 bits: of 8 coordinates element j at bit 4 (j % 4) + 2 (j / 4), of 4 at bit 4 j."""
    return sum(code << 4 * (j % 4) + 2 * (j // 4) for j, code in enumerate(codes))


def pack_grid(kind):
    kind.init_grid()
    levels = [float(level) for level in kind.grid_map]
    points = [
        pack_point([levels.index(float(value)) for value in point])
        for point in kind.grid.reshape(kind.grid_shape)
    ]
    return [low | high << 16 for low, high in zip(points[0::2], points[1::2])]


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("// Made by tools/golden/iq_grids.py.\n#include \"quant/iq/iq_grids.h\"\n\n// clang-format off\n")
        for name in GRIDS:
            words = pack_grid(getattr(quants, name))
            text = fill(", ".join(f"0x{word:08X}" for word in words), 96)
            out.write(f"const uint32_t gi_{name.lower()}_grid[{len(words)}] = {{\n")
            out.write("".join(f"    {line}\n" for line in text.split("\n")))
            out.write("};\n" if name == GRIDS[-1] else "};\n\n")
        out.write("// clang-format on\n")


if __name__ == "__main__":
    main()
