#!/usr/bin/env python3
"""Writes random LoRA adapters of tiny folders as PEFT keeps them, and lists what llama.cpp's converter makes of them.

    make_folder_peft.py LLAMA_CPP FOLDERS OUT FAMILY...

OUT/FAMILY becomes an adapter of FOLDERS/FAMILY that changes all of its projections. OUT/FAMILY.twin has the alpha and a line
for each tensor of the GGUF file that convert_lora_to_gguf.py of the tree LLAMA_CPP writes: name, dimensions, and the hash that
folder_twin.py describes. Needs PyPI transformers, torch, safetensors and numpy.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

PROJECTIONS = r"(language_model\.)?(model\.)?(language_model\.)?layers\.\d+\.(self_attn|attention|mlp|feed_forward|conv|shared_mlp)\.(\w+_proj|w[123]|\w+_linear)\.weight"
# The converter orders the rows of q and k of Granite 4 in the base but not in adapters.
LEFT_OUT = {"granite4_dense": ("q_proj", "k_proj")}
RANK, ALPHA = 2, 3


def matrix(name, shape, scale):
    rng = np.random.default_rng([3, zlib.crc32(name.encode())])
    return torch.from_numpy((scale * rng.standard_normal(shape)).astype(np.float32)).to(torch.bfloat16).contiguous()


def make(folder, out):
    out.mkdir(parents=True, exist_ok=True)
    tensors = {}
    with safe_open(folder / "model.safetensors", "pt") as file:
        for name in file.keys():
            shape = file.get_slice(name).get_shape()
            is_left_out = any(part in name for part in LEFT_OUT.get(folder.name, ()))
            if re.fullmatch(PROJECTIONS, name) and len(shape) == 2 and not is_left_out:
                start = f"base_model.model.{name.removesuffix('.weight')}"
                tensors[f"{start}.lora_A.weight"] = matrix(f"{start}A", (RANK, shape[1]), shape[1] ** -0.5)
                tensors[f"{start}.lora_B.weight"] = matrix(f"{start}B", (shape[0], RANK), RANK**-0.5)
    save_file(tensors, out / "adapter_model.safetensors", metadata={"format": "pt"})
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "bias": "none", "use_rslora": False,
              "fan_in_fan_out": False, "modules_to_save": None}
    (out / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


def convert(tree, folder, adapter, out):
    with tempfile.TemporaryDirectory() as work:
        file = pathlib.Path(work) / "adapter.gguf"
        subprocess.run([sys.executable, tree / "convert_lora_to_gguf.py", "--outtype", "f32", "--outfile", file,
                        "--base", folder, adapter], check=True, stderr=subprocess.DEVNULL)
        lines = ["alpha " + str(ALPHA)]
        import gguf
        from folder_twin import fnv1a
        for tensor in gguf.GGUFReader(file).tensors:
            dims = "x".join(str(int(n)) for n in tensor.shape)
            lines.append(f"tensor {tensor.name} {dims} {fnv1a(tensor.data.astype(np.float32).tobytes()):016x}")
        out.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("folders", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("family", nargs="+")
    args = parser.parse_args()
    sys.path.insert(0, str(args.tree / "gguf-py"))
    for family in args.family:
        make(args.folders / family, args.out / family)
        convert(args.tree, args.folders / family, args.out / family, args.out / f"{family}.twin")


if __name__ == "__main__":
    main()
