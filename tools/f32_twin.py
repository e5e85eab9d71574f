#!/usr/bin/env python3
"""Writes the same model with every tensor dequantised to F32.

    f32_twin.py IN.gguf OUT.gguf

The twin is what an engine is compared on: it takes the weights' quantisation out of the question,
for engines that also quantise activations. Tensors are converted one by one, so the twin may be
larger than memory. Needs PyPI gguf and numpy.
"""
import sys

import numpy as np
from gguf import GGUFReader, GGUFValueType, GGUFWriter, quants

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


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: f32_twin.py IN.gguf OUT.gguf")
    reader = GGUFReader(sys.argv[1])
    writer = GGUFWriter(sys.argv[2], reader.fields["general.architecture"].contents())
    copy_metadata(reader, writer)
    copy_tensors(reader, writer)
    writer.close()


if __name__ == "__main__":
    main()
