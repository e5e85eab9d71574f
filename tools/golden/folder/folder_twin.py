#!/usr/bin/env python3
"""Converts Hugging Face folders to F32 GGUF twins by llama.cpp's own converter, and lists their contents, for tests.

    folder_twin.py LLAMA_CPP FOLDER OUT.gguf [--list OUT.twin]

LLAMA_CPP is a tree of llama.cpp, such as vendor/llama.cpp in the source package of PyPI's llama-cpp-python. A list has a line
for each metadata pair, except those of the tokenizer and of the file itself, and one for each tensor: name, dimensions, and
the 64-bit FNV-1a hash of its elements as F32, or the elements where libraries round them in different ways. Needs PyPI transformers, torch, safetensors and numpy.
"""
import argparse
import json
import pathlib
import sys

import numpy as np

SKIPPED = ("GGUF.", "tokenizer.", "general.")


def convert(folder, out):
    import conversion
    from conversion import base
    import gguf

    kinds = json.loads((folder / "config.json").read_text())
    conversion.load_all_models()
    model = base.ModelBase.from_model_architecture(base.get_model_architecture(kinds, base.ModelType.TEXT))
    # The vocabularies are the tests' own: no converter knows how they split text.
    base.TextModel.get_vocab_base_pre = lambda self, tokenizer: "default"
    if "tokenizer.json" in {path.name for path in folder.iterdir()} and not kinds["model_type"].startswith("bert"):
        model.set_vocab = lambda self: self._set_vocab_gpt2()
    model.no_mtp = True  # glinfer leaves out the layers that predict further tokens
    model(folder, gguf.LlamaFileType.ALL_F32, out, model_name="tiny", sentence_transformers_dense_modules=True).write()


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def pair_text(field):
    from gguf import GGUFValueType
    value = field.contents()
    values = value if isinstance(value, list) else [value]
    if field.types[-1] in (GGUFValueType.FLOAT32, GGUFValueType.FLOAT64):
        values = [float(np.float32(number)).hex() for number in values]
    return " ".join(str(int(number)) if isinstance(number, bool) else str(number) for number in values)


def list_contents(path, out):
    from gguf import GGUFReader, dequantize
    reader = GGUFReader(path)
    arch = reader.fields["general.architecture"].contents()
    lines = [f"arch {arch}"]
    for key, field in reader.fields.items():
        if not key.startswith(SKIPPED):
            lines.append(f"pair {key} {pair_text(field)}")
    for tensor in reader.tensors:
        data = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        dims = "x".join(str(int(n)) for n in tensor.shape)
        computed = tensor.name == "rope_freqs.weight" or tensor.name.endswith("ssm_a")
        text = " ".join(float(n).hex() for n in data.flat) if computed else f"{fnv1a(data.tobytes()):016x}"
        lines.append(f"{'values' if computed else 'tensor'} {tensor.name} {dims} {text}")
    out.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--list", type=pathlib.Path)
    args = parser.parse_args()
    sys.path[:0] = [str(args.tree), str(args.tree / "gguf-py")]  # this gguf is newer than PyPI's
    convert(args.folder, args.out)
    if args.list:
        list_contents(args.out, args.list)


if __name__ == "__main__":
    main()
