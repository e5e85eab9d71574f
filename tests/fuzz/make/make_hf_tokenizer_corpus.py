#!/usr/bin/env python3
"""Writes corpus/hf_tokenizer: the files of small tokenizers in one JSON object, for tests/fuzz/hf/hf_tokenizer_fuzz.c.

    make_hf_tokenizer_corpus.py [FOLDER]

The same bytes at every run.
"""
import json
import pathlib
import sys

ADDED = [{"id": 3, "content": "<s>", "special": True, "lstrip": True}, {"id": 4, "content": "A1", "normalized": True}]
BPE = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}


def template(*pieces):
    return {"type": "TemplateProcessing", "single": list(pieces), "special_tokens": {"b": {"ids": [3]}}}


def sequence(name, *components):
    return {"type": "Sequence", name: list(components)}


def files():
    split = {"type": "Split", "pattern": {"Regex": "(?i:'s)|[^\\s\\p{L}]?\\p{L}+|\\s+(?!\\S)"}, "behavior": "Isolated"}
    yield "byte-level", {"tokenizer.json": {
        "added_tokens": ADDED, "normalizer": {"type": "NFC"}, "model": {**BPE, "merges": [["a", "b"]], "ignore_merges": True},
        "pre_tokenizer": sequence("pretokenizers", split, {"type": "ByteLevel", "use_regex": False}),
        "post_processor": template({"SpecialToken": {"id": "b"}}, {"Sequence": {"id": "A"}})},
        "generation_config.json": {"eos_token_id": [2, 4]}}
    yield "byte-fallback", {"tokenizer.json": {
        "added_tokens": ADDED, "model": {**BPE, "byte_fallback": True, "fuse_unk": True, "unk_token": "b"},
        "normalizer": sequence("normalizers", {"type": "Prepend", "prepend": "_"},
                               {"type": "Replace", "pattern": {"String": " "}, "content": "_"})},
        "tokenizer_config.json": {"bos_token": "<s>", "eos_token": {"content": "ab"}, "add_bos_token": True,
                                  "chat_template": [{"name": "default", "template": "x"}]},
        "config.json": {"vocab_size": 6}}
    yield "unigram", {"tokenizer.json": {
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1.5], ["_b", -2]]},
        "normalizer": {"type": "Nmt"}, "pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"},
        "post_processor": {"type": "RobertaProcessing", "sep": ["a", 1], "cls": ["b", 2]}}}
    yield "wordpiece", {"tokenizer.json": {
        "added_tokens": ADDED[:1], "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "?", "vocab": {"?": 0, "a": 1, "##b": 2}, "max_input_chars_per_word": 9},
        "decoder": {"type": "WordPiece"}}}


def main():
    here = pathlib.Path(__file__).parent.parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "corpus" / "hf_tokenizer"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files():
        (folder / f"{name}.json").write_text(json.dumps(data, separators=(",", ":")))


if __name__ == "__main__":
    main()
