#!/usr/bin/env python3
"""Writes the same model with every tensor dequantised to F32.

    f32_twin.py IN.gguf OUT.gguf

The twin is what an engine is compared on: it takes the weights' quantisation out of the question,
for engines that also quantise activations. Tensors are converted one by one, so the twin may be
larger than memory. Needs PyPI gguf and numpy.
"""
import contextlib
import pathlib
import sys
import tempfile

import numpy as np
from gguf import GGUFReader, GGUFValueType, GGUFWriter, quants

import random_blocks  # noqa: F401: adds types

WRITTEN_ANEW = ("general.architecture", "general.alignment", "general.file_type")


def copy_metadata(reader, writer):
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key in WRITTEN_ANEW:
            continue
        kind = field.types[0]
        element = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(key, field.contents(), kind, sub_type=element)
    writer.add_file_type(0)


def copy_tensors(reader, writer):
    f32 = np.dtype(np.float32)
    for tensor in reader.tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        writer.add_tensor_info(tensor.name, shape, f32, int(tensor.n_elements) * f32.itemsize)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in reader.tensors:
        data = quants.dequantize(tensor.data, tensor.tensor_type)
        writer.write_tensor_data(np.ascontiguousarray(data, dtype=np.float32))


def write_twin(model, path):
    reader = GGUFReader(model)
    writer = GGUFWriter(path, reader.fields["general.architecture"].contents())
    copy_metadata(reader, writer)
    copy_tensors(reader, writer)
    writer.close()


@contextlib.contextmanager
def twin_of(model, given=None):
    """The path of a model's twin: one that is given, or else in a temporary folder for as long as it is needed."""
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "twin.gguf"
        write_twin(model, path)
        yield path


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: f32_twin.py IN.gguf OUT.gguf")
    write_twin(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    main()
