#!/usr/bin/env python3
"""Writes corpus/tuning: texts of tunings, for tests/fuzz/tuning_fuzz.c."""
from pathlib import Path

TEXTS = {
    "step": "gemv_qkv 2 960 576 0 split:512:1:0\n"
            "gemv_qkv 2 960 576 0 f16:1024:2:528\n"
            "gemv_vocab 8 49152 576 0 split:256:4:528\n"
            "argmax 4294967295 49152 0 0 1024\n",
    "prompt": "gemm 3 960 576 512 64x64:3\nbatch 4294967295 0 0 0 split\ndispatch 4294967295 0 0 0 indirect\n",
    "odd": "# a remark\n\ngemv_qkv 2 960 576 0\ngemv_qkv 4294967296 1 1 0 row\n"
           "a_name_of_more_than_23_letters 1 1 1 0 row\ngemv_glu 0 256 64 0 split:8:1",
}


def main():
    folder = Path(__file__).parent.parent / "corpus" / "tuning"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)


if __name__ == "__main__":
    main()
