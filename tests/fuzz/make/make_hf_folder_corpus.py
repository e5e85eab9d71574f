#!/usr/bin/env python3
"""Writes corpus/hf_folder: folders of tests/data in one JSON object each, for tests/fuzz/hf/hf_folder_fuzz.c."""
import json
import pathlib
import struct

TESTS = pathlib.Path(__file__).resolve().parents[2]
TOKENIZER = {"added_tokens": [{"id": 2, "content": "<s>", "special": True}],
             "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}, "pre_tokenizer": {"type": "ByteLevel"}}
# Folders of tests/data and the adapters of some.
INPUTS = {"phi3_short": "peft/phi3_short", "granite4_dense": "peft/granite4_dense", "qwen35": "peft/qwen35", "lfm2moe": None,
          "gpt_oss": None, "gemma4": None, "mlx_affine": None, "mlx_floats": None}


def shapes(path):
    with path.open("rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return {name: [tensor["dtype"], *tensor["shape"]] for name, tensor in header.items() if name != "__metadata__"}


def main():
    out = TESTS / "fuzz/corpus/hf_folder"
    out.mkdir(exist_ok=True)
    for name, adapter in INPUTS.items():
        folder = TESTS / "data/folders" / name
        files = {"config.json": json.loads((folder / "config.json").read_text()), "tokenizer.json": TOKENIZER,
                 "generation_config.json": {"eos_token_id": [1, 2], "repetition_penalty": 1.1},
                 "tensors": shapes(folder / "model.safetensors")}
        if adapter:
            own = TESTS / "data" / adapter
            files["adapter_config.json"] = json.loads((own / "adapter_config.json").read_text())
            files["adapter"] = shapes(own / "adapter_model.safetensors")
        (out / f"{name}.json").write_text(json.dumps(files, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
