#!/usr/bin/env python3
"""Writes corpus/tokenizer: small vocabularies with texts and conversations, for tests/fuzz/tokenizer_fuzz.c.

    make_tokenizer_corpus.py [FOLDER]

The same bytes at every run.
"""
import pathlib
import struct
import sys

MODEL, PRE, NAME, TOKEN, MERGE, IDS, TEMPLATE, CHOICE, MESSAGE, TEXT, CHARSMAP, PAIR, STEP, ADDED, RULES = range(15)
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
USER, ASSISTANT, SYSTEM = range(3)


def record(kind, *parts):
    data = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return bytes([kind, len(data)]) + data


def token(text, kind=NORMAL, score=0.0):
    return record(TOKEN, bytes([kind]), struct.pack(">f", score)[:2], text)


def ids(*values):
    return record(IDS, struct.pack("6b", *values))


def message(role, content):
    return record(MESSAGE, bytes([role]), content)


def text(flags, content):
    return record(TEXT, bytes([flags]), content)


def llama():
    return record(MODEL, "llama") + token("<unk>", UNKNOWN) + token("<s>", CONTROL) + token("</s>", CONTROL)


def pieces():
    return b"".join(token(piece, NORMAL, -rank - 1.0) for rank, piece in
                    enumerate(["ab", "abab", "\u2581a", "a", "b", "\u2581"]))


def gpt2(pre):
    tokens = ["a", "b", "ab", "\u0120", "\u0120a"]
    return record(MODEL, "gpt2") + record(PRE, pre) + b"".join(map(token, tokens)) + \
        record(MERGE, "a b") + record(MERGE, "\u0120 a")


def files():
    spaces = token("  ", USER_DEFINED) + token("    ", USER_DEFINED) + token("<0x0A>", BYTE)
    yield "llama-pieces", llama() + pieces() + text(3, "ab abab<s>\n") + text(0, b"a\xff\xe2\x96b")
    yield "llama-spaces", llama() + spaces + text(2, "a       b \n") + ids(1, 2, 0, 1, 1, 0)
    yield "llama-phi3", llama() + record(NAME, "Phi-3") + token("<|end|>", CONTROL) + text(3, "<|end|> \n<s> b")
    yield "llama-chat", llama() + token("[INST]", CONTROL) + record(CHOICE, bytes([13])) + \
        message(SYSTEM, " a ") + message(USER, "b") + message(ASSISTANT, "c") + message(USER, "</s>")
    yield "gpt2-text", gpt2("smollm") + text(3, b"ab 12 a\xed\xa0\x80")
    yield "gpt2-chat", gpt2("gpt-2") + record(TEMPLATE, "<|im_start|>system\\nab<|im_end|>") + message(USER, "a")
    yield "llama-default", llama() + message(USER, "a") + \
        record(TEMPLATE, "[SYSTEM_PROMPT][INST]{% set day = strftime_now('%d') %}"
                         "{% set default_system_message = 'a\\n' + day + \"b\" %}")
    yield "llama-think", llama() + message(USER, "a") + message(ASSISTANT, "<think>b</think>\n\nc") + \
        message(USER, "d") + record(CHOICE, bytes([0]))


def small_charsmap():
    """a -> bc, by hand: the root leads to a at 1 ^ a, whose end is at 2."""
    nodes = [1 << 31] * 128
    nodes[0] = 1 << 10
    at = 1 ^ ord("a")
    nodes[at] = (at ^ 2) << 10 | 1 << 8 | ord("a")
    nodes[2] = 1 << 31
    return struct.pack("<129I", 512, *nodes) + b"bc\0"


def unigram():
    tokens = token("<pad>", CONTROL) + token("</s>", CONTROL) + token("<unk>", UNKNOWN)
    return record(MODEL, "t5") + tokens + pieces()


def unigram_files():
    whole = small_charsmap()
    records = record(CHARSMAP, whole[:255]) + record(CHARSMAP, whole[255:510]) + record(CHARSMAP, whole[510:])
    yield "unigram-pieces", unigram() + record(IDS, struct.pack("7b", -1, 1, 2, 0, 1, 1, 1)) + text(3, b"ab  abab\xff</s>")
    yield "unigram-map", unigram() + records + text(3, b"ab  aba") + text(0, "\u2581")


def pair_files():
    yield "pair-template", llama() + pieces() + record(PAIR, "<s>{document}ab{query}</s>") + text(0, "ab") + text(0, "a</s>")
    yield "pair-separator", llama() + pieces() + record(IDS, struct.pack("9b", 1, 2, 0, 1, 1, 0, 0, 1, 1)) + \
        text(0, "ab") + text(0, "b")


def step(*texts):
    return record(STEP, "\0".join(texts))


def steps_files():
    bare = gpt2("unknown") + record(RULES, b"\1\0")
    yield "steps-gpt2", bare + step("nfc") + step("isolate", "(?i:'s)| ?\\p{L}+|\\s+(?!\\S)", "") + text(3, "ab e\u0301 a'S")
    yield "steps-added", bare + token("<a>", CONTROL) + step("lowercase") + step("added_tokens") + \
        step("with_next", "_", "") + record(ADDED, b"\5\x0f") + text(3, "a_B <A> <a>") + text(0, "<a>")
    yield "steps-llama", llama() + pieces() + record(MERGE, "a b") + record(RULES, b"\6\0") + step("prepend", "", "\u2581") + \
        step("replace", " ", "\u2581") + record(ADDED, b"\1\1") + text(3, b"ab \xffz<s>")
    yield "steps-unigram", unigram() + record(IDS, struct.pack("7b", -1, 1, 2, 0, 1, 1, 1)) + record(RULES, b"\0\0") + \
        record(CHARSMAP, small_charsmap()[:255]) + record(CHARSMAP, small_charsmap()[255:510]) + \
        record(CHARSMAP, small_charsmap()[510:]) + step("charsmap") + step("remove", "[ ]", "") + \
        step("prefix", "", "\u2581") + text(3, "ab a e\u0301")
    yield "steps-bert", record(MODEL, "bert") + token("[UNK]", UNKNOWN) + token("\u2581a") + token("b") + \
        record(IDS, struct.pack("7b", -1, -1, 0, 0, 0, 0, 0)) + record(RULES, b"\0\4") + step("keep", "[a-z]+", "") + \
        step("surround", "c", " ") + step("contiguous", "b", "") + text(3, "ab abbbb cab!")


def main():
    here = pathlib.Path(__file__).parent.parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "corpus" / "tokenizer"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in (*files(), *unigram_files(), *pair_files(), *steps_files()):
        (folder / f"{name}.bin").write_bytes(data)


if __name__ == "__main__":
    main()
