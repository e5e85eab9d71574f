#!/usr/bin/env python3
"""Writes tests/fuzz/corpus/safetensors: small files, sound ones and wrong ones."""
import json
import pathlib
import struct

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "corpus" / "safetensors"


def write(name, header, n_data, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(text) if length is None else length
    (FOLDER / f"{name}.safetensors").write_bytes(struct.pack("<Q", size) + text + bytes(range(n_data)))


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


FOLDER.mkdir(exist_ok=True)
write("sound-types", {"__metadata__": {"format": "pt"}, "a": tensor("F32", [2], 0, 8), "b": tensor("BF16", [1, 3], 8, 14),
                      "c": tensor("F16", [], 14, 16), "d": tensor("F4", [2, 2], 16, 18), "e": tensor("U32", [0, 7], 18, 18)}, 18)
write("sound-empty", {}, 0)
write("sound-spaces", b'{"a":{"dtype":"I8","shape":[3],"data_offsets":[0,3]}}     ', 3)
write("wrong-length", {}, 4, 1 << 63)
write("wrong-gap", {"a": tensor("U8", [2], 0, 2), "b": tensor("U8", [2], 3, 5)}, 5)
write("wrong-overlap", {"a": tensor("U8", [4], 0, 4), "b": tensor("U8", [4], 2, 6)}, 6)
write("wrong-twice", b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', 2)
write("wrong-product", {"a": tensor("F64", [1 << 52, 1 << 52], 0, 8)}, 8)
write("wrong-nested", b"[" * 200, 0)
