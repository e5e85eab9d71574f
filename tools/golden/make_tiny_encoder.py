#!/usr/bin/env python3
"""Writes a tiny random encoder as a GGUF file, for tests of embeddings.

The same options give the same bytes; weights are scaled as in make_tiny_gguf.py, whose byte vocabulary it has.

    make_tiny_encoder.py tiny-bert.gguf --arch bert --types attn=q8_0,ffn=q4_0 --pooling 2

Needs PyPI gguf and numpy.
"""
import argparse
import struct

import numpy as np
from gguf import GGUFWriter, PoolingType, RopeScalingType

from make_tiny_gguf import FILE_TYPES, TensorMaker, add_byte_vocabulary, parse_types


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--arch", choices=["bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3", "modern-bert"], default="bert")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--embd", type=int, default=64)
    parser.add_argument("--ff", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--ctx", type=int, default=512)
    parser.add_argument("--vocab", type=int, default=320)
    parser.add_argument("--types", type=parse_types, default=parse_types("f32"))
    parser.add_argument("--experts", type=int, default=5, help="of nomic-bert-moe")
    parser.add_argument("--window", type=int, default=24, help="of modern-bert")
    parser.add_argument("--pooling", type=int, default=1, help="0 none, 1 mean, 2 cls, 3 last, 4 rank")
    parser.add_argument("--classes", type=int, default=0, help="of a classifier")
    parser.add_argument("--wordpiece", action="store_true", help="a WordPiece vocabulary")
    parser.add_argument("--unigram", action="store_true", help="a vocabulary of SentencePiece's unigram model")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.add_bos = args.chatml = False
    return args


def wordpiece_tokens(n_vocab):
    """Characters of several scripts at the beginning of words and within, pieces of two and three, then words."""
    letters = [*map(chr, range(0x21, 0x7F)), *"\u03b1\u03b2\u0433\u0434\u0436\u05d0\u0627\u4e2d\u6587\u1100\u00df\u0153"]
    small = [c for c in letters if not c.isupper()]
    pairs = [a + b for a in "etaoinsr" for b in "etaoinshrdlu"]
    words = "the and ing tion not with that have this from word model embed vector".split()
    pieces = [*small, *pairs, *words]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for piece in pieces:
        tokens += ["\u2581" + piece, piece]
    return tokens[:n_vocab] + [f"[unused{i}]" for i in range(max(0, n_vocab - len(tokens)))]


def add_wordpiece_vocabulary(writer, args):
    tokens = wordpiece_tokens(args.vocab)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 5 + [1] * (len(tokens) - 5))
    writer.add_token_type_count(2)
    writer.add_pad_token_id(0)
    writer.add_unk_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_sep_token_id(3)
    writer.add_mask_token_id(4)


def unigram_pieces(n_vocab):
    """Spaces, characters of several scripts, pieces and words with and without a space in front, and their scores."""
    letters = [*map(chr, range(0x21, 0x7F)), *"\u03b1\u0433\u0436\u05d0\u0627\u4e2d\u6587\uac00\u00df\u0153\U0001f600"]
    pairs = [a + b for a in "etaoinsr" for b in "etaoinsr"]
    words = "the and ing tion not with that have this from word model embed vector".split()
    pieces = ["\u2581", *letters, *pairs, *words, *("\u2581" + word for word in [*"eatisno", *words])]
    return [(piece, -2.0 - 1.37 * (7 * i % 11) / len(piece)) for i, piece in enumerate(pieces)][: n_vocab - 5]


# Replacements of the normaliser: a ligature, full-width and accented letters, spaces, and characters that it removes.
RULES = {"\ufb01": "fi", "\uff41": "a", "\uff42": "b", "\u00e9": "e", "e\u0301": "e", "\u00a0": " ", "\t": " ", "\n": " ",
         "\u3000": " ", "\u2026": "...", "\u00bd": "1\u20442", "\u200b": "", "\u0410": "\u0430"}


def charsmap(rules):
    """A normaliser as SentencePiece compiles it: a double array, then what the rules give, each ended by 0."""
    texts = {}
    replacements = b""
    for source, target in sorted(rules.items()):
        texts[source.encode()] = len(replacements)
        replacements += target.encode() + b"\0"
    nodes = {0: 0}

    def place(prefix, index):
        following = sorted({text[len(prefix)] for text in texts if text.startswith(prefix) and len(text) > len(prefix)})
        is_end = prefix in texts
        wanted = ([0] if is_end else []) + following
        base = next(base for base in range(1, 1 << 20) if all(base ^ byte not in nodes for byte in wanted))
        nodes[index] |= (base ^ index) << 10 | is_end << 8
        nodes.update((base ^ byte, byte) for byte in wanted)
        if is_end:
            nodes[base] = 1 << 31 | texts[prefix]
        for byte in following:
            place(prefix + bytes([byte]), base ^ byte)

    place(b"", 0)
    array = [nodes.get(index, 1 << 31) for index in range(max(nodes) // 256 * 256 + 256)]
    return struct.pack(f"<{1 + len(array)}I", 4 * len(array), *array) + replacements


def add_unigram_vocabulary(writer, args):
    pieces = unigram_pieces(args.vocab)
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *(piece for piece, _ in pieces), "<mask>"]
    unused = args.vocab - len(tokens)
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens + [f"[PAD{i}]" for i in range(unused)])
    writer.add_token_scores([0.0] * 4 + [score for _, score in pieces] + [0.0] + [-10000.0] * unused)
    writer.add_token_types([3, 3, 3, 2] + [1] * len(pieces) + [3] + [5] * unused)
    writer.add_token_type_count(2)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(charsmap(RULES))
    for name, token in (("bos", 0), ("eos", 2), ("sep", 2), ("pad", 1), ("unk", 3), ("mask", len(pieces) + 4)):
        getattr(writer, f"add_{name}_token_id")(token)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    writer.add_add_sep_token(True)


def add_facts(writer, args):
    writer.add_name(f"tiny random {args.arch}")
    writer.add_file_type(FILE_TYPES[args.types["ffn_down"]])
    writer.add_context_length(args.ctx)
    writer.add_embedding_length(args.embd)
    writer.add_block_count(args.layers)
    writer.add_feed_forward_length(args.ff)
    writer.add_head_count(args.heads)
    writer.add_layer_norm_eps(1e-12 if args.arch == "bert" else 1e-5)
    writer.add_causal_attention(False)
    writer.add_pooling_type(PoolingType(args.pooling))
    if args.arch in ("nomic-bert", "nomic-bert-moe", "jina-bert-v3"):
        writer.add_rope_freq_base(1000.0)
    if args.arch == "nomic-bert-moe":
        writer.add_moe_every_n_layers(2)
        writer.add_expert_count(args.experts)
        writer.add_expert_used_count(2)
    if args.arch == "modern-bert":
        writer.add_rope_freq_base(160000.0)
        writer.add_rope_freq_base_swa(1000.0)
        writer.add_rope_scaling_type(RopeScalingType.NONE)
        writer.add_sliding_window(args.window)
        writer.add_sliding_window_pattern(3)
    if args.classes:
        writer.add_classifier_output_labels([f"class {i}" for i in range(args.classes)])


def add_norm(make, name, size):
    make.vector(f"{name}.weight", size, np.float32(1), 0.2)
    make.vector(f"{name}.bias", size, np.float32(0), 0.3)


def add_biases(make, prefix, sizes):
    for stem, size in sizes.items():
        make.vector(f"{prefix}{stem}.bias", size, np.float32(0), 0.3)


def add_modern_layer(make, args, prefix):
    if prefix != "blk.0.":
        make.vector(f"{prefix}attn_norm.weight", args.embd, np.float32(1), 0.2)
    make.matrix(prefix, "attn_qkv", 3 * args.embd, args.embd, 1.5, kind="attn_q")
    make.matrix(prefix, "attn_output", args.embd, args.embd)
    make.vector(f"{prefix}ffn_norm.weight", args.embd, np.float32(1), 0.2)
    make.matrix(prefix, "ffn_up", 2 * args.ff, args.embd)
    make.matrix(prefix, "ffn_down", args.embd, args.ff)


def add_modern_tensors(make, args):
    make.vector("token_embd_norm.weight", args.embd, np.float32(1), 0.2)
    for layer in range(args.layers):
        add_modern_layer(make, args, f"blk.{layer}.")
    make.vector("output_norm.weight", args.embd, np.float32(1), 0.2)
    if args.classes:
        make.matrix("", "cls", args.embd, args.embd, 1, kind="dense")
        make.vector("cls.norm.weight", args.embd, np.float32(1), 0.2)
        make.matrix("", "cls.output", args.classes, args.embd, 2, kind="dense")
        make.vector("cls.output.bias", args.classes, np.float32(0), 0.3)


UNGATED = ("bert", "jina-bert-v3", "nomic-bert-moe")  # with a network without a gate


def add_layer(make, args, prefix):
    if args.arch.startswith("nomic-bert"):
        make.matrix(prefix, "attn_qkv", 3 * args.embd, args.embd, 1.5, kind="attn_q")
    else:
        for stem, gain in (("attn_q", 1.5), ("attn_k", 1.5), ("attn_v", 1)):
            make.matrix(prefix, stem, args.embd, args.embd, gain)
        add_biases(make, prefix, dict.fromkeys(("attn_q", "attn_k", "attn_v"), args.embd))
    make.matrix(prefix, "attn_output", args.embd, args.embd)
    add_norm(make, f"{prefix}attn_output_norm", args.embd)
    if args.arch == "nomic-bert-moe" and int(prefix.split(".")[1]) % 2 == 1:
        make.matrix(prefix, "ffn_gate_inp", args.experts, args.embd, 2, kind="router")
        make.experts(prefix, "ffn_up", args.ff, args.embd)
        make.experts(prefix, "ffn_down", args.embd, args.ff)
        add_norm(make, f"{prefix}layer_output_norm", args.embd)
        return
    make.matrix(prefix, "ffn_up", args.ff, args.embd)
    make.matrix(prefix, "ffn_down", args.embd, args.ff)
    if args.arch not in UNGATED:
        make.matrix(prefix, "ffn_gate", args.ff, args.embd)
    if args.arch != "nomic-bert":
        add_biases(make, prefix, {"attn_output": args.embd, "ffn_down": args.embd})
    if args.arch in UNGATED:
        add_biases(make, prefix, {"ffn_up": args.ff})
    add_norm(make, f"{prefix}layer_output_norm", args.embd)


def add_tensors(writer, args):
    make = TensorMaker(writer, args)
    make.matrix("", "token_embd", args.vocab, args.embd, 8)
    if args.arch == "modern-bert":
        add_modern_tensors(make, args)
        return
    make.vector("token_types.weight", (2, args.embd), np.float32(0), 0.5)
    if args.arch == "bert":
        make.vector("position_embd.weight", (args.ctx, args.embd), np.float32(0), 0.7)
    add_norm(make, "token_embd_norm", args.embd)
    for layer in range(args.layers):
        add_layer(make, args, f"blk.{layer}.")
    if args.classes:
        make.matrix("", "cls", args.embd, args.embd, 1, kind="dense")
        make.vector("cls.bias", args.embd, np.float32(0), 0.3)
        make.matrix("", "cls.output", args.classes, args.embd, 2, kind="dense")
        make.vector("cls.output.bias", args.classes, np.float32(0), 0.3)


def main():
    args = parse_arguments()
    writer = GGUFWriter(args.out, args.arch)
    if args.wordpiece:
        add_wordpiece_vocabulary(writer, args)
    elif args.unigram:
        add_unigram_vocabulary(writer, args)
    else:
        add_byte_vocabulary(writer, args)
        writer.add_token_type_count(2)
    add_facts(writer, args)
    add_tensors(writer, args)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
