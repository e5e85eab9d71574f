"""Random weights of any GGUF type, for types that PyPI gguf reads and does not write: quants are random
bits, scales are set. The weights spread evenly over what the type can say.

Importing this module also adds Q1_0 and Q2_0 to PyPI gguf 0.19, which knows the name of the first alone, by the formulas
of the heads of src/quant/basic. llama_dequantize is llama.cpp's own function, from PyPI xllamacpp."""

import ctypes
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T, quants


def add_type(name, number, sizes):
    """The type of that name, which becomes one of gguf's."""
    if name not in T.__members__:
        kind = int.__new__(T, number)
        kind._name_, kind._value_ = name, number
        T._member_map_[name] = T._value2member_map_[number] = kind
    GGML_QUANT_SIZES[T[name]] = sizes
    return T[name]


Q1_0 = add_type("Q1_0", 41, (128, 18))
Q2_0 = add_type("Q2_0", 42, (64, 18))


def fields(blocks, bits):
    """f16 d of blocks, and the numbers of some bits that follow it, the first ones low."""
    places = np.arange(0, 8, bits, dtype=np.uint8)
    numbers = blocks[:, 2:, None] >> places & np.uint8((1 << bits) - 1)
    return blocks[:, :2].copy().view(np.float16).astype(np.float32), numbers.reshape(len(blocks), -1).astype(np.float32)


class Bits(quants.__dict__["__Quant"], qtype=Q1_0):
    @classmethod
    def dequantize_blocks(cls, blocks):
        d, bits = fields(blocks, 1)
        return d * (2 * bits - 1)


class Pairs(quants.__dict__["__Quant"], qtype=Q2_0):
    @classmethod
    def dequantize_blocks(cls, blocks):
        d, numbers = fields(blocks, 2)
        return d * (numbers - 1)


def llama_dequantize(kind, row):
    import xllamacpp  # heavy, and only for this

    library = ctypes.CDLL(next(pathlib.Path(xllamacpp.__file__).parent.glob("*.so")))
    block, size = GGML_QUANT_SIZES[kind]
    weights = np.empty(row.size // size * block, np.float32)
    getattr(library, f"dequantize_row_{kind.name.lower()}")(
        row.ctypes.data_as(ctypes.c_void_p), weights.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(weights.size))
    return weights


# Offset of the f16 scale in a block, and of the f16 minimum with what it is relative to the scale.
SCALES = {
    T.Q4_0: (0, None),
    T.Q4_1: (0, (2, -7.5)),
    T.Q5_0: (0, None),
    T.Q5_1: (0, (2, -15.5)),
    T.Q8_0: (0, None),
    T.Q2_K: (80, (82, 1.5)),
    T.Q3_K: (108, None),
    T.Q4_K: (0, (2, 7.5)),
    T.Q5_K: (0, (2, 15.5)),
    T.Q6_K: (208, None),
    T.IQ4_NL: (0, None),
    T.IQ4_XS: (0, None),
    Q1_0: (0, None),
    Q2_0: (0, None),
    T.TQ1_0: (52, None),
    T.TQ2_0: (64, None),
    T.IQ2_XXS: (0, None),
    T.IQ2_XS: (0, None),
    T.IQ2_S: (0, None),
    T.IQ3_XXS: (0, None),
    T.IQ3_S: (0, None),
    T.IQ1_S: (0, None),
}


def set_half(blocks, at, value):
    blocks[:, at : at + 2] = np.frombuffer(np.float16(value).tobytes(), np.uint8)


def set_spread_half(blocks, value):
    """IQ1_M: the four digits of the f16 are the top digits of four words at the end."""
    bits = int(np.float16(value).view(np.uint16))
    for i in range(4):
        blocks[:, 49 + 2 * i] = (blocks[:, 49 + 2 * i] & 0x0F) | ((bits >> 4 * i & 15) << 4)


def set_scale(blocks, kind, scale):
    if kind == T.MXFP4:
        blocks[:, 0] = int(np.round(np.log2(scale))) + 128
    elif kind == T.NVFP4:
        blocks[:, :4] = quants.NVFP4.fp32_to_ue4m3(np.float32([scale]))
    elif kind == T.IQ1_M:
        set_spread_half(blocks, scale)
    else:
        at, minimum = SCALES[kind]
        set_half(blocks, at, scale)
        if minimum:
            set_half(blocks, minimum[0], minimum[1] * scale)


def random_blocks(random, kind, n_rows, n_cols, rms, quiet_rows=slice(0)):
    """(n_rows, bytes of a row) of uint8; quiet_rows are a tenth of the others."""
    block, size = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (n_rows * n_cols // block, size), np.uint8)
    set_scale(blocks, kind, 1)
    unit = np.sqrt(np.mean(np.square(quants.dequantize(blocks, kind), dtype=np.float64)))
    set_scale(blocks, kind, rms / unit)
    rows = blocks.reshape(n_rows, -1)
    quiet = np.ascontiguousarray(rows[quiet_rows]).reshape(-1, size)
    if quiet.size:
        set_scale(quiet, kind, rms / unit / 10)
        rows[quiet_rows] = quiet.reshape(-1, rows.shape[1])
    return rows
