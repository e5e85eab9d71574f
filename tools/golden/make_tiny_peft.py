#!/usr/bin/env python3
"""Writes the adapter of a GGUF file as PEFT keeps it: a folder with adapter_config.json and SafeTensors.

    make_tiny_peft.py MODEL.gguf ADAPTER OUT [--rslora]

MODEL is of Llama's architecture, whose rows of q and k lie in another order. Needs PyPI gguf and numpy.
"""
import argparse
import json
import pathlib
import re
import struct

import gguf
import numpy as np

NAMES = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
         "ffn_down": "mlp.down_proj"}


def halves(matrix, n_head):
    """The rows of each head with the first of all pairs before the second of all."""
    return matrix.reshape(n_head, -1, 2, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("adapter")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rslora", action="store_true")
    args = parser.parse_args()
    model, adapter = gguf.GGUFReader(args.model), gguf.GGUFReader(args.adapter)
    heads = {"attn_q": "llama.attention.head_count", "attn_k": "llama.attention.head_count_kv"}
    header, data = {}, b""
    for tensor in sorted(adapter.tensors, key=lambda t: t.name):
        layer, name, half = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight\.lora_([ab])", tensor.name).groups()
        values = tensor.data.astype(np.float32)
        if half == "b" and name in heads:
            values = halves(values, model.fields[heads[name]].contents())
        rank = values.shape[0] if half == "a" else values.shape[1]
        key = f"base_model.model.model.layers.{layer}.{NAMES[name]}.lora_{half.upper()}.weight"
        block = values.tobytes()
        header[key] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(block)]}
        data += block
    alpha = adapter.fields["adapter.lora.alpha"].contents()
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha / rank**0.5 if args.rslora else alpha,
              "use_rslora": args.rslora, "bias": "none", "fan_in_fan_out": False, "modules_to_save": None}
    args.out.mkdir(exist_ok=True)
    (args.out / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (args.out / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
