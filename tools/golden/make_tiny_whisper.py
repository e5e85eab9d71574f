#!/usr/bin/env python3
"""Writes a tiny random Whisper model as a file of whisper.cpp, and what numpy computes with it in double.

The same options give the same bytes. Tests make the sound themselves (tests/kernel/towers_test.c): whole numbers from
a linear congruential generator, divided by 2^23, less 1.

    make_tiny_whisper.py tiny-whisper_f16.bin tiny-whisper_f16.towers --type f16 --heads 1

The golden file has, for each number of positions, lines "positions N", "row I VALUES" (of the encoder, before its last
norm), "logits T VALUES" (after the token T of the text, every STRIDE-th of them) and "weights T VALUES" (that the last
head of the last layer gives to the positions for token T).

Needs PyPI gguf, numpy and scipy.
"""
import argparse
import math
import struct
import zlib

import numpy as np
from gguf import GGMLQuantizationType, quants
from scipy.special import erf

N_BINS = 201  # of a mel filter
STRIDE = 5
POSITIONS = (64, 20, 8)
TEXT = (7, 3, 0, 11, 5, 190, 64, 64, 9, 2, 33, 101)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("golden")
    parser.add_argument("--type", default="f32", help="of matrices")
    parser.add_argument("--embd", type=int, default=64)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--layers", type=int, default=2, help="of the encoder")
    parser.add_argument("--text-layers", type=int, default=2)
    parser.add_argument("--ctx", type=int, default=64)
    parser.add_argument("--text-ctx", type=int, default=48)
    parser.add_argument("--vocab", type=int, default=200)
    parser.add_argument("--mel", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Writer:
    """Writes tensors, and keeps what a reader makes of them."""

    def __init__(self, stream, args):
        self.stream, self.args, self.tensors = stream, args, {}

    def draw(self, name, shape):
        seed = [self.args.seed, zlib.crc32(name.encode())]
        return np.random.Generator(np.random.PCG64(seed)).standard_normal(shape).astype(np.float32)

    def tensor(self, name, data, kind):
        number = GGMLQuantizationType[kind.upper()]
        block = quants.quantize(np.ascontiguousarray(data), number)
        self.stream.write(struct.pack("<3i", data.ndim, len(name), int(number)))
        self.stream.write(struct.pack(f"<{data.ndim}i", *reversed(data.shape)))
        self.stream.write(name.encode() + block.tobytes())
        self.tensors[name] = quants.dequantize(block, number).reshape(data.shape).astype(np.float64)

    def matrix(self, name, shape, kind=None):
        rms = 1 / math.sqrt(np.prod(shape[1:]))
        self.tensor(name + ".weight", self.draw(name, shape) * np.float32(rms), kind or self.args.type)

    def vector(self, name, shape, mean, spread):
        self.tensor(name, np.float32(mean) + np.float32(spread) * self.draw(name, shape), "f32")

    def linear(self, name, n_rows, n_cols, has_bias=True):
        self.matrix(name, (n_rows, n_cols))
        if has_bias:
            self.vector(name + ".bias", (n_rows,), 0, 0.2)

    def norm(self, name):
        self.vector(name + ".weight", (self.args.embd,), 1, 0.2)
        self.vector(name + ".bias", (self.args.embd,), 0, 0.3)

    def attention(self, name):
        n = self.args.embd
        self.norm(name + "_ln")
        for part in ("query", "key", "value", "out"):
            self.linear(f"{name}.{part}", n, n, part != "key")

    def network(self, layer):
        n = self.args.embd
        self.norm(layer + ".mlp_ln")
        self.linear(layer + ".mlp.0", 4 * n, n)
        self.linear(layer + ".mlp.2", n, 4 * n)


def write_head(stream, args):
    file_type = {"f32": 0, "f16": 1, "q8_0": 7, "q5_1": 9}[args.type]
    stream.write(struct.pack("<12i", 0x67676D6C, args.vocab, args.ctx, args.embd, args.heads, args.layers, args.text_ctx,
                             args.embd, args.heads, args.text_layers, args.mel, file_type))
    stream.write(struct.pack("<2i", args.mel, N_BINS))
    centers = np.linspace(2, N_BINS - 2, args.mel)[:, None]
    stream.write(np.maximum(0, 1 - np.abs(np.arange(N_BINS) - centers) / 3).astype("<f4").tobytes())
    stream.write(struct.pack("<i", args.vocab - 20))
    for i in range(args.vocab - 20):
        token = bytes([i]) if i < 128 else f" w{i}".encode()
        stream.write(struct.pack("<i", len(token)) + token)


def write_model(writer, args):
    n, small = args.embd, "f32" if args.type == "f32" else "f16"
    writer.vector("encoder.positional_embedding", (args.ctx, n), 0, 0.5)
    writer.matrix("encoder.conv1", (n, args.mel, 3), small)
    writer.vector("encoder.conv1.bias", (n, 1), 0, 0.2)
    writer.matrix("encoder.conv2", (n, n, 3), small)
    writer.vector("encoder.conv2.bias", (n, 1), 0, 0.2)
    for i in range(args.layers):
        writer.attention(f"encoder.blocks.{i}.attn")
        writer.network(f"encoder.blocks.{i}")
    writer.norm("encoder.ln_post")
    writer.vector("decoder.positional_embedding", (args.text_ctx, n), 0, 0.5)
    writer.matrix("decoder.token_embedding", (args.vocab, n))
    for i in range(args.text_layers):
        writer.attention(f"decoder.blocks.{i}.attn")
        writer.attention(f"decoder.blocks.{i}.cross_attn")
        writer.network(f"decoder.blocks.{i}")
    writer.norm("decoder.ln")


class Model:
    """Whisper in double."""

    def __init__(self, tensors, args):
        self.tensors, self.n_head, self.args = tensors, args.heads, args

    def linear(self, name, x):
        return x @ self.tensors[name + ".weight"].T + self.tensors.get(name + ".bias", 0)

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def attend(self, name, x, source, is_causal=False):
        def heads(rows):
            return rows.reshape(len(rows), self.n_head, -1).transpose(1, 0, 2)

        q, k, v = (heads(self.linear(f"{name}.{part}", rows))
                   for part, rows in (("query", x), ("key", source), ("value", source)))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
        if is_causal:
            scores = scores + np.triu(np.full(scores.shape[1:], -np.inf), 1)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        self.weights = weights  # of the latest attention
        return self.linear(name + ".out", (weights @ v).transpose(1, 0, 2).reshape(len(x), -1))

    def network(self, layer, x):
        return x + self.linear(layer + ".mlp.2", gelu(self.linear(layer + ".mlp.0", self.norm(layer + ".mlp_ln", x))))

    def convolve(self, name, x, step):
        """x: (n, n_in); the taps of a row are those before, at and after it."""
        padded = np.pad(x, ((1, 1), (0, 0)))
        rows = [padded[i:i + 3].T.ravel() for i in range(0, len(x), step)]
        weight = self.tensors[name + ".weight"]
        return gelu(np.array(rows) @ weight.reshape(len(weight), -1).T + self.tensors[name + ".bias"].ravel())

    def encode(self, mel):
        x = self.convolve("encoder.conv2", self.convolve("encoder.conv1", mel, 1), 2)
        x = x + self.tensors["encoder.positional_embedding"][:len(x)]
        for i in range(self.args.layers):
            layer = f"encoder.blocks.{i}"
            y = self.norm(layer + ".attn_ln", x)
            x = self.network(layer, x + self.attend(layer + ".attn", y, y))
        return x

    def decode(self, heard, tokens):
        """Logits after each token."""
        source = self.norm("encoder.ln_post", heard)
        embedding = self.tensors["decoder.token_embedding.weight"]
        x = embedding[list(tokens)] + self.tensors["decoder.positional_embedding"][:len(tokens)]
        for i in range(self.args.text_layers):
            layer = f"decoder.blocks.{i}"
            y = self.norm(layer + ".attn_ln", x)
            x = x + self.attend(layer + ".attn", y, y, True)
            x = x + self.attend(layer + ".cross_attn", self.norm(layer + ".cross_attn_ln", x), source)
            x = self.network(layer, x)
        return self.norm("decoder.ln", x) @ embedding.T


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def sound(n_frame, n_mel):
    values, state = np.empty(n_frame * n_mel), 1
    for i in range(len(values)):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        values[i] = (state >> 8) / 2**23 - 1
    return values.reshape(n_frame, n_mel)


def write_golden(stream, model, args):
    def line(kind, index, values):
        stream.write(f"{kind} {index} " + " ".join(f"{v:.5f}" for v in values) + "\n")

    for n in POSITIONS:
        heard = model.encode(sound(2 * n, args.mel))
        logits = model.decode(heard, TEXT)
        stream.write(f"positions {n}\n")
        for i in (0, 1, n // 2, n - 1):
            line("row", i, heard[i])
        for i in (0, 1, len(TEXT) - 1):
            line("logits", i, logits[i, ::STRIDE])
        for i in (0, len(TEXT) - 1):
            line("weights", i, model.weights[-1, i])


def main():
    args = parse_arguments()
    with open(args.out, "wb") as stream:
        write_head(stream, args)
        writer = Writer(stream, args)
        write_model(writer, args)
    with open(args.golden, "w", encoding="utf-8") as stream:
        write_golden(stream, Model(writer.tensors, args), args)


if __name__ == "__main__":
    main()
