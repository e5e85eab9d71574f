#!/usr/bin/env python3
"""Writes a random LoRA adapter of a model.

    make_tiny_adapter.py MODEL.gguf OUT.gguf [--rank R] [--alpha X] [--only REGEX] [--seed N]

It changes the matrices of layers whose names --only matches, by about as much as they are. Its values are
halves, which f32 holds as well: the reference rounds the inputs of products with f16. Needs PyPI gguf and numpy.
"""
import argparse
import pathlib
import re

import gguf
import numpy as np

MATRICES = r"blk\.\d+\.(attn_(q|k|v|qkv|output)|ffn_(gate|up|down))\.weight"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--alpha", type=float, default=8)
    parser.add_argument("--only", default=MATRICES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--type", default="f32", choices=["f16", "f32"])
    args = parser.parse_args()
    random = np.random.default_rng(args.seed)
    reader = gguf.GGUFReader(args.model)
    writer = gguf.GGUFWriter(args.out, reader.fields["general.architecture"].contents())
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", args.alpha)
    numbers = np.float16 if args.type == "f16" else np.float32
    for tensor in reader.tensors:
        if not re.fullmatch(args.only, tensor.name):
            continue
        n_cols, n_rows = (int(n) for n in tensor.shape)
        a = random.standard_normal((args.rank, n_cols)) / np.sqrt(n_cols)
        b = random.standard_normal((n_rows, args.rank)) * np.sqrt(args.rank) / args.alpha
        writer.add_tensor(f"{tensor.name}.lora_a", a.astype(np.float16).astype(numbers))
        writer.add_tensor(f"{tensor.name}.lora_b", b.astype(np.float16).astype(numbers))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(pathlib.Path(args.out).stat().st_size, "bytes")


if __name__ == "__main__":
    main()
