#!/usr/bin/env python3
"""Writes a Whisper model in the shapes of tiny.en, of one layer in each tower and weights of zero, to be compiled only.

    whisper_model.py FILE
"""
import math
import struct
import sys

WIDTH, N_HEAD, N_AUDIO, N_TEXT, N_MEL, N_VOCAB, N_WORDS = 384, 6, 1500, 448, 80, 51864, 50257
F32, F16 = 0, 1


def main():
    with open(sys.argv[1], "wb") as file:
        def tensor(name, *shape, kind=F32):
            file.write(struct.pack(f"<3i{len(shape)}i", len(shape), len(name), kind, *shape) + name.encode())
            file.seek(math.prod(shape) * (2 if kind == F16 else 4), 1)

        def matrix(name, n_col, n_row, has_bias=True):
            tensor(name + ".weight", n_col, n_row, kind=F16)
            if has_bias:
                tensor(name + ".bias", n_row)

        def norm(name):
            tensor(name + ".weight", WIDTH)
            tensor(name + ".bias", WIDTH)

        def layer(name, *attentions):
            for attention in attentions:
                for part in ("query", "key", "value", "out"):
                    matrix(f"{name}.{attention}.{part}", WIDTH, WIDTH, part != "key")
                norm(f"{name}.{attention}_ln")
            norm(f"{name}.mlp_ln")
            matrix(f"{name}.mlp.0", WIDTH, 4 * WIDTH)
            matrix(f"{name}.mlp.2", 4 * WIDTH, WIDTH)

        file.write(struct.pack("<12I", 0x67676D6C, N_VOCAB, N_AUDIO, WIDTH, N_HEAD, 1, N_TEXT, WIDTH, N_HEAD, 1, N_MEL, F16))
        file.write(struct.pack("<2I", N_MEL, 201) + bytes(4 * 201 * N_MEL) + struct.pack("<I", N_WORDS))
        for i in range(N_WORDS):
            word = f" w{i}".encode()
            file.write(struct.pack("<I", len(word)) + word)
        for i, n_in in (1, N_MEL), (2, WIDTH):
            tensor(f"encoder.conv{i}.weight", 3, n_in, WIDTH, kind=F16)
            tensor(f"encoder.conv{i}.bias", 1, WIDTH)
        tensor("encoder.positional_embedding", WIDTH, N_AUDIO)
        layer("encoder.blocks.0", "attn")
        norm("encoder.ln_post")
        matrix("decoder.token_embedding", WIDTH, N_VOCAB, False)
        tensor("decoder.positional_embedding", WIDTH, N_TEXT)
        layer("decoder.blocks.0", "attn", "cross_attn")
        norm("decoder.ln")
        file.truncate()


if __name__ == "__main__":
    main()
