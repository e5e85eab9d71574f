#!/usr/bin/env python3
"""Compares the pre-tokenizers that glinfer knows with llama.cpp's: their names, and the ids that each gives.

usage: compare_pretokenizers.py SOURCE [--program tokenize_lines] [--count N] [--seed S] [--only NAME] [--write]

SOURCE is src/llama-vocab.cpp of llama.cpp, as in PyPI's llama-cpp-python. Its names of tokenizer.ggml.pre are compared with
tests/unit/data/pretokenizers.cases, whose names a unit test creates; --write writes them there. For each name a vocabulary is
made in which most pairs of neighbours merge, so that ids show where words end, and random texts are compared as
compare_tokenizer.py does. Exits with 1 if anything differs. Needs PyPI xllamacpp, gguf and numpy.
"""
import argparse
import pathlib
import random
import re
import sys
import tempfile

from gguf import GGUFWriter

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from compare_tokenizer import VERSION, Reference, run_program, text_record
from make_tiny_gguf import byte_alphabet
from random_texts import random_text

LIST = pathlib.Path(__file__).resolve().parents[3] / "tests/unit/data/pretokenizers.cases"
RAW = ("gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace")  # tokens are spelled as they are
FIRST = "0123456789 \n.'aeshlEtvr"
TEXTS = ("0 12 345 6789 12345x123456 1234567", "it's IT'S we'll we'LL x1  2   3\n\n4", "½1234 12½34½345 123½ ¼", "a\u0301b\u0301 A\u0301BcD",
         "中文abc漢字 カタカナ 한국어 ㄱㄴ ㄅㄆ", "！…“a”：；，、〿︰﹏", "ไทย ລາວ ខ្មែរ မြန်မာ ｱｲｳ ⼀⼁ ᄀᄁ", " \u3000 \u00a0x\r\n \r\n\t", "\u2581a \u2581\u2581")


def names_of(source):
    return sorted(set(re.findall(r'tokenizer_pre\s*==\s*"([^"]+)"', pathlib.Path(source).read_text(encoding="utf-8"))))


def pairs(rng, alphabet, common):
    """Neighbours that merge: all of the common characters, and a tenth of the others."""
    return [(a, b) for a in alphabet for b in alphabet if a in common and b in common or rng.random() < 0.1]


def write_vocabulary(path, pre, seed):
    rng = random.Random(seed)
    tokens, types = ["<|startoftext|>", "<|endoftext|>", "<mark>"], [3, 3, 4]
    if pre in RAW:
        alphabet = [*map(chr, range(0x21, 0x7F)), *"\u2581\n中文éд½"]
        tokens += [f"<0x{byte:02X}>" for byte in range(256)]
        types += [6] * 256
        common = set(FIRST.replace(" ", "\u2581"))
    else:
        alphabet = byte_alphabet()
        common = {alphabet[byte] for byte in FIRST.encode()}
    merges = pairs(rng, alphabet, common)
    merges += [(a + b, c) for a, b in merges[::3] for c in common]
    rng.shuffle(merges)
    merges.sort(key=lambda merge: len(merge[0]))
    merged = list(dict.fromkeys(a + b for a, b in merges))
    tokens += [*alphabet, *merged]
    types += [1] * (len(alphabet) + len(merged))
    writer = GGUFWriter(path, "llama")
    writer.add_tokenizer_model("whitespace" if pre == "whitespace" else "gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([f"{a} {b}" for a, b in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def compare(pre, args, folder):
    model = pathlib.Path(folder) / "vocabulary.gguf"
    write_vocabulary(model, pre, args.seed)
    rng = random.Random(args.seed)
    reference = Reference(model)
    tokens = reference.token_texts()
    texts = [(text.encode(), 0) for text in TEXTS]
    texts += [(random_text(rng, tokens), rng.randrange(4)) for _ in range(args.count)]
    if pre in RAW:  # where a space is spelled by several bytes, the reference stops
        texts = [(text.decode("utf-8", "replace").encode(), flags) for text, flags in texts]
    expected = [reference.tokenize(text, flags) for text, flags in texts]
    got = run_program(args.program, str(model), [text_record(*text) for text in texts])
    wrong = [(text, want, ids) for text, want, ids in zip(texts, expected, got) if want != ids]
    for text, want, ids in wrong[:3]:
        print(f"{pre}: differs: {text}\n  reference {want}\n  glinfer   {ids}")
    print(f"{pre}: {len(texts)} texts, {len(wrong)} differences")
    return not wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("source")
    parser.add_argument("--program", default="build/tests/golden/tokenize_lines")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    names = names_of(args.source)
    if args.write:
        LIST.write_text("# Written by tools/golden/tokenizer/compare_pretokenizers.py. raw: tokens are not spelled in GPT-2's alphabet.\n\n"
                        f"[pre: the names that llama.cpp knows as in PyPI's xllamacpp {VERSION}]\n"
                        + "".join(f"{name}{' ⟶ raw' if name in RAW else ''}\n" for name in names), encoding="utf-8")
    listed = [line.split()[0] for line in LIST.read_text(encoding="utf-8").splitlines() if line and line[0] not in "#["]
    for name in sorted(set(names) ^ set(listed)):
        print(f"{name}: only in {'the source' if name in names else LIST.name}")
    with tempfile.TemporaryDirectory() as folder:
        same = [compare(name, args, folder) for name in ([args.only] if args.only else names)]
    return 0 if all(same) and sorted(names) == listed else 1


if __name__ == "__main__":
    sys.exit(main())
