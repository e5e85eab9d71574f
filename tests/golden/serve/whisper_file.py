"""Writes Whisper models of one layer in each tower as whisper.cpp does."""
import math
import struct

N_AUDIO, N_TEXT, N_MEL, N_WORDS = 1500, 448, 80, 50257
F32, F16 = 0, 1


def write(path, width, n_head, n_vocab, kind, fill):
    """Writes the file. kind: of matrices and convolutions. fill(file, kind, n, exponent) writes the n numbers of a
    tensor, which are of 2**exponent and any sign; exponent 0: ones."""
    with open(path, "wb") as file:
        def tensor(name, *shape, exponent, kind=F32):
            file.write(struct.pack(f"<3i{len(shape)}i", len(shape), len(name), kind, *shape) + name.encode())
            fill(file, kind, math.prod(shape), exponent)

        def matrix(name, n_col, n_row, has_bias=True):
            tensor(name + ".weight", n_col, n_row, exponent=-3 if n_col == width else -4, kind=kind)
            if has_bias:
                tensor(name + ".bias", n_row, exponent=-5)

        def norm(name):
            tensor(name + ".weight", width, exponent=0)
            tensor(name + ".bias", width, exponent=-5)

        def layer(name, *attentions):
            for attention in attentions:
                for part in ("query", "key", "value", "out"):
                    matrix(f"{name}.{attention}.{part}", width, width, part != "key")
                norm(f"{name}.{attention}_ln")
            norm(f"{name}.mlp_ln")
            matrix(f"{name}.mlp.0", width, 4 * width)
            matrix(f"{name}.mlp.2", 4 * width, width)

        file.write(struct.pack("<12I", 0x67676D6C, n_vocab, N_AUDIO, width, n_head, 1, N_TEXT, width, n_head, 1, N_MEL, kind))
        filters = [0.01 if i % 201 // 3 == i // 201 else 0 for i in range(N_MEL * 201)]
        file.write(struct.pack(f"<2I{len(filters)}fI", N_MEL, 201, *filters, N_WORDS))
        for i in range(N_WORDS):
            word = bytes([i]) if i < 256 else f" w{i}".encode()
            file.write(struct.pack("<I", len(word)) + word)
        for i, n_in in (1, N_MEL), (2, width):
            tensor(f"encoder.conv{i}.weight", 3, n_in, width, exponent=-5, kind=kind)
            tensor(f"encoder.conv{i}.bias", 1, width, exponent=-5)
        tensor("encoder.positional_embedding", width, N_AUDIO, exponent=-2)
        layer("encoder.blocks.0", "attn")
        norm("encoder.ln_post")
        matrix("decoder.token_embedding", width, n_vocab, False)
        tensor("decoder.positional_embedding", width, N_TEXT, exponent=-2)
        layer("decoder.blocks.0", "attn", "cross_attn")
        norm("decoder.ln")
        file.truncate()
