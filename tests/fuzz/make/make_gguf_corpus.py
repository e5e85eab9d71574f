#!/usr/bin/env python3
"""Writes corpus/gguf: small files of GGUF and whisper.cpp, sound and wrong, for tests/fuzz/gguf_fuzz.c;
and corpus/inspect: a whole Whisper model for tests/fuzz/inspect_fuzz.c.

    make_gguf_corpus.py [FOLDER]

Plain struct.pack, so that any field can be written wrong. The same bytes at every run.
"""
import math
import pathlib
import struct
import sys

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B",
           U64: "Q", I64: "q", F64: "d"}
# type number: (elements, bytes) of a block
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 8: (32, 34), 12: (256, 144),
          14: (256, 210), 30: (1, 2)}


def number(kind, value):
    return struct.pack("<" + FORMATS[kind], value)


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return number(U64, len(data)) + data


def value(kind, item):
    return string(item) if kind == STRING else number(kind, item)


def pair(key, kind, item):
    return string(key) + number(U32, kind) + value(kind, item)


def array(key, kind, items, count=None):
    head = number(U32, ARRAY) + number(U32, kind)
    count = len(items) if count is None else count
    return string(key) + head + number(U64, count) + b"".join(value(kind, i) for i in items)


def entry(name, dims, kind, offset):
    sizes = b"".join(number(U64, n) for n in dims)
    return string(name) + number(U32, len(dims)) + sizes + number(U32, kind) + number(U64, offset)


def header(n_tensors, n_pairs, version=3):
    return b"GGUF" + number(U32, version) + number(U64, n_tensors) + number(U64, n_pairs)


def padded(data, alignment=32):
    return data + bytes(-len(data) % alignment)


def with_tensors(pairs, tensors, alignment=32):
    """A sound file: tensors are (name, dims, type), their data counts up."""
    directory, size = b"", 0
    for name, dims, kind in tensors:
        block, n_bytes = BLOCKS[kind]
        n = n_bytes
        for dim in dims:
            n *= dim
        directory += entry(name, dims, kind, size)
        size += -(-n // block // alignment) * alignment
    head = header(len(tensors), len(pairs)) + b"".join(pairs) + directory
    return padded(head, alignment) + bytes(i & 0xFF for i in range(size))


def facts():
    return [
        pair("general.architecture", STRING, "llama"),
        pair("llama.block_count", U32, 1),
        pair("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        array("tokenizer.ggml.tokens", STRING, ["a", "b", "<|eos|>", b"\xff\x00"]),
        array("tokenizer.ggml.token_type", I32, [1, 1, 3, 6]),
        array("tokenizer.ggml.scores", F32, [0.0, -1.0, -2.0, -3.0]),
    ]


def every_kind():
    pairs = [pair(f"k{kind}", kind, 1) for kind in FORMATS]
    return pairs + [array(f"a{kind}", kind, [0, 1]) for kind in FORMATS]


def files():
    one = [("token_embd.weight", (32, 2), 2)]
    types = [(f"t{kind}.weight", (256, 1), kind) for kind in (1, 2, 3, 8, 30)]
    yield "sound-model", with_tensors(facts(), one + [("output_norm.weight", (32,), 0)])
    yield "sound-kinds", header(0, 22) + b"".join(every_kind())
    yield "sound-types", with_tensors([], types)
    yield "sound-k-quants", with_tensors([], [("a", (256, 1), 12), ("b", (256, 1), 14)])
    yield "sound-dims", with_tensors([], [("d", (2, 3, 2, 2), 0)])
    yield "sound-align", with_tensors([pair("general.alignment", U32, 64)], one, 64)
    yield "sound-v2", header(0, 1, 2) + pair("general.name", STRING, "two")
    yield "sound-vocabulary", header(0, 6) + b"".join(facts())
    yield "wrong-v1", header(0, 0, 1)
    yield "wrong-big-endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0)
    yield "wrong-counts", header(2**63, 2**63)
    yield "wrong-array-count", header(0, 1) + array("a", U64, [1], 2**61)
    yield "wrong-nested", header(0, 1) + string("n") + struct.pack("<IIQ", ARRAY, ARRAY, 1)
    yield "wrong-twice", header(0, 2) + pair("same", U8, 1) + pair("same", U8, 2)
    yield "wrong-dims", padded(header(1, 0) + entry("d", (2**32, 2**32), 0, 0)) + bytes(32)
    yield "wrong-offset", padded(header(1, 0) + entry("o", (8,), 0, 2**64 - 32)) + bytes(32)
    yield "wrong-type", padded(header(1, 0) + entry("t", (32,), 4, 0)) + bytes(32)


def words(*values):
    return struct.pack(f"<{len(values)}I", *values)


def bin_tensor(name, dims, kind, data):
    return words(len(dims), len(name), kind, *dims) + name.encode() + data


def whisper(tensors, tokens=(b"a", b"\xff\0", b""), sizes=(51864, 1500, 32, 1, 2, 448, 32, 1, 2, 1, 1)):
    """A file of whisper.cpp with one mel filter, so that it is small enough for every damage."""
    text = b"".join(words(len(token)) + token for token in tokens)
    head = b"lmgg" + words(*sizes)
    filters = words(1, 201) + bytes(i & 0x3F for i in range(201 * 4))
    return head + filters + words(len(tokens)) + text + b"".join(tensors)


def silero(tensors, n_layer=4):
    sizes = words(129, 128, 3, 128, 64, 3, 64, 64, 3, 64, 128, 3, 128, 128, 128, 1)
    return b"lmgg" + words(10) + b"silero-16k" + words(6, 2, 0, 512, 64, n_layer) + sizes + b"".join(tensors)


def bin_files():
    norm = bin_tensor("decoder.ln.weight", (32,), 0, bytes(128))
    yield "sound-whisper", whisper([
        norm, bin_tensor("encoder.conv1.weight", (3, 2, 4), 1, bytes(48)), bin_tensor("encoder.conv1.bias", (1, 4), 0, bytes(16)),
        bin_tensor("encoder.blocks.1.attn.key.weight", (32, 2), 8, bytes(68)),
        bin_tensor("decoder.blocks.1.cross_attn.value.bias", (4,), 0, bytes(16)), bin_tensor("another", (256, 1), 12, bytes(144))])
    yield "sound-silero", silero([
        bin_tensor("_model.decoder.decoder.2.bias", (), 0, bytes(4)), bin_tensor("_model.stft.forward_basis_buffer", (4, 1, 6), 1, bytes(48))])
    yield "wrong-tensor-twice", whisper([norm, norm])
    yield "wrong-tensor-size", whisper([bin_tensor("t", (2**31, 2**31, 2**31, 2), 0, bytes(8))])
    yield "wrong-tokens", whisper([norm], tokens=())
    yield "wrong-layers", silero([norm], n_layer=2**32 - 1)


def whole_model():
    """A Whisper model with one layer of the encoder and one of the decoder, in q4_0."""
    def tensor(name, dims, kind):
        block, n_bytes = BLOCKS[kind]
        size = math.prod(dims) // block * n_bytes
        return bin_tensor(name, dims, kind, bytes(i * 7 & 0x3F for i in range(size)))

    def linear(name, n_rows, n_cols, has_bias=True):
        weight = tensor(name + ".weight", (n_cols, n_rows), 2)
        return weight + (tensor(name + ".bias", (n_rows,), 0) if has_bias else b"")

    def norm(name):
        return tensor(name + ".weight", (32,), 0) + tensor(name + ".bias", (32,), 0)

    def attention(name):
        parts = (linear(f"{name}.{part}", 32, 32, part != "key") for part in ("query", "key", "value", "out"))
        return norm(name + "_ln") + b"".join(parts)

    def network(name):
        return norm(name + ".mlp_ln") + linear(name + ".mlp.0", 128, 32) + linear(name + ".mlp.2", 32, 128)

    return whisper([
        tensor("encoder.positional_embedding", (32, 8), 0),
        tensor("encoder.conv1.weight", (3, 1, 32), 1), tensor("encoder.conv1.bias", (1, 32), 0),
        tensor("encoder.conv2.weight", (3, 32, 32), 1), tensor("encoder.conv2.bias", (1, 32), 0),
        attention("encoder.blocks.0.attn"), network("encoder.blocks.0"), norm("encoder.ln_post"),
        tensor("decoder.positional_embedding", (32, 8), 0), tensor("decoder.token_embedding.weight", (32, 70), 2),
        attention("decoder.blocks.0.attn"), attention("decoder.blocks.0.cross_attn"), network("decoder.blocks.0"),
        norm("decoder.ln")], sizes=(70, 8, 32, 4, 1, 8, 32, 4, 1, 1, 2002))


def main():
    here = pathlib.Path(__file__).parent.parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "corpus" / "gguf"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files():
        (folder / f"{name}.gguf").write_bytes(data)
    for name, data in bin_files():
        (folder / f"{name}.bin").write_bytes(data)
    whole = folder.parent / "inspect"
    whole.mkdir(parents=True, exist_ok=True)
    (whole / "whisper.bin").write_bytes(whole_model())


if __name__ == "__main__":
    main()
