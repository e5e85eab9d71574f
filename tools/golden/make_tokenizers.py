#!/usr/bin/env python3
"""Writes small tokenizers of every kind as folders of Hugging Face, and the ids that the tokenizers library gives.

usage: make_tokenizers.py OUT [--only NAME] [--count N] [--seed S] [--train] [--weights]

OUT/NAME/ gets tokenizer.json, tokenizer_config.json and expected.golden, whose lines tests/golden/tokenizer_golden_test.c
describes; with --weights also a Llama of one layer, so that programs open the folder. The tests' are in
tests/golden/data/tokenizers. A tokenizer.json that is there is kept, for the same ids; with --train, or without one, it is
trained on the texts below, which breaks ties by chance. Needs PyPI tokenizers 0.23.3, numpy and gguf.
"""

import argparse
import json
import pathlib
import random
import struct
import sys

import numpy
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from make_tiny_encoder import RULES, charsmap
from random_texts import random_text

VERSION = "0.23.3"

TEXTS = """The quick brown fox jumps over the lazy dog, and it's not the first time that they've done so.
We'll see whether the model can read what it wrote; I'd say it can't, but you're free to try again.
Tokenizers cut a text into words, then words into pieces: "the", "ing", "tion", "ment", "able", "ness".
def main(argc, argv):
    for i in range(10):
        print(f"{i}: {argv[i]}")    # a comment
    return 0
for (int i = 0; i < n; ++i) { sum += x[i] * y[i]; } /* a loop */
#include <stdio.h>
int main(void) { printf("hello world\\n"); return 0; }
camelCaseWord HTTPServer snake_case_word SCREAMING_CASE x86_64 utf-8 3.14159 1000000 12345 0xFF 2024-01-31
Le café est à côté de l'église, où l'on mange des crêpes à la crème brûlée. Ça va très bien, merci !
Straße, Fußgängerübergang, Äpfel und Öl: die größten Überraschungen kommen im März.
Привет, мир! Это небольшой текст на русском языке, чтобы были кириллические слова.
你好，世界。这是一个很小的文本，用来训练分词器。今天的天气很好，我们去公园。
これは小さなテキストです。トークナイザーを訓練するために使います。カタカナとひらがな。
한국어 문장도 조금 있습니다. 안녕하세요, 세계!
مرحبا بالعالم، هذا نص صغير. नमस्ते दुनिया, यह एक छोटा पाठ है। สวัสดีชาวโลก
😀 😃 😄 👍 👨‍👩‍👧 ❤️ 🎉 … — “quotes” ‘single’ «guillemets» ½ ² ₂ Ⅷ ١٢٣
https://example.org/path?query=value&other=1#fragment user@example.org /usr/local/bin C:\\Users\\name
\ttabs\tand    runs   of  spaces

    indented lines

and empty ones\r\nwith other line ends\r\n
""".splitlines(keepends=True)

# Texts that were cut otherwise before: graphemes, the mark of spaces in a word.
MORE_TEXTS = ["\u00a9\u00ae\u2122\U0001f600\U0001f600e\u0301", "a\u00bd\u2581the \u2581the", "\u1100\u1161\u11a8 \u212b"]

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def cased(end):
    head = r"[^\r\n\p{L}\p{N}]?"
    return f"{head}{UPPER}*{LOWER}+{end}|{head}{UPPER}+{LOWER}*{end}"


LLAMA3 = "|".join([CONTRACTIONS, WORD, r"\p{N}{1,3}", SIGNS, SPACES])
QWEN2 = "|".join([CONTRACTIONS, WORD, r"\p{N}", SIGNS, SPACES])
QWEN35 = "|".join([CONTRACTIONS, r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+", r"\p{N}", r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*", SPACES])
O200K = "|".join([cased(CONTRACTIONS + "?"), r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", SPACES])
TEKKEN = "|".join([cased(""), r"\p{N}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", SPACES])
DEEPSEEK3 = ('[!"#$%&' + r"'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
             r"| ?[\p{P}\p{S}]+[\r\n]*|" + SPACES)
CJK = "[一-龥぀-ゟ゠-ヿ]+"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def split(*expressions, behavior="isolated", invert=False):
    return [pre_tokenizers.Split(Regex(expression), behavior, invert) for expression in expressions]


def special(*texts, **rules):
    return [AddedToken(text, special=True, normalized=False, **rules) for text in texts]


def byte_level(before, use_regex, tokens, normalizer=None, template=None, add_prefix_space=False, size=460, **model):
    """Byte-level BPE: the steps before ByteLevel, the added tokens, the ids around a text."""
    made = Tokenizer(models.BPE(**model))
    if normalizer:
        made.normalizer = normalizer
    last = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)
    made.pre_tokenizer = pre_tokenizers.Sequence([*before, last]) if before else last
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    made.add_tokens(tokens)
    made.post_processor = surround(made, *template) if template else processors.ByteLevel(trim_offsets=False)
    return made


def surround(made, before, after):
    names = [name for name in (before, after) if name]
    return processors.TemplateProcessing(
        single=" ".join([*([before] if before else []), "$A", *([after] if after else [])]),
        special_tokens=[(name, made.token_to_id(name)) for name in names])


def with_bytes(normalizer, pre_tokenizer, tokens, template, size=800, **model):
    """BPE of characters, U+2581 for a space, where bytes stand for unknown characters: Llama 2, Mistral, Gemma."""
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split(Regex("▁+[^▁]*|[^▁]+"), "isolated")
    trained.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=size - 259, limit_alphabet=140, show_progress=False,
                                                           special_tokens=["<unk>", "<s>", "</s>", *BYTES]))
    # Every way to make a token is a merge, as in files converted from SentencePiece.
    file = json.loads(trained.to_str())["model"]
    vocab = file["vocab"]
    merges = [(token[:i], token[i:]) for token, _ in sorted(vocab.items(), key=lambda item: item[1])
              for i in range(1, len(token)) if token[:i] in vocab and token[i:] in vocab and token not in BYTES]
    made = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True, **model))
    if normalizer:
        made.normalizer = normalizer
    if pre_tokenizer:
        made.pre_tokenizer = pre_tokenizer
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])
    made.add_tokens(tokens)
    made.post_processor = surround(made, *template)
    return made


def unigram(normalizer, pre_tokenizer, names, tokens, template, unk, size=500, byte_fallback=False):
    trained = Tokenizer(models.Unigram())
    trained.normalizer = normalizer
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(TEXTS, trainers.UnigramTrainer(vocab_size=size, unk_token="<unk>", special_tokens=names,
                                                               show_progress=False))
    vocab = json.loads(trained.to_str())["model"]["vocab"]
    vocab = [(text, float(numpy.float32(round(score, 4)))) for text, score in vocab]  # GGUF has floats
    if byte_fallback:
        vocab += [(text, 0.0) for text in BYTES]
    made = Tokenizer(models.Unigram(vocab, unk_id=names.index(unk), byte_fallback=byte_fallback))
    made.normalizer, made.pre_tokenizer, made.decoder = normalizer, pre_tokenizer, decoders.Metaspace()
    made.add_tokens(tokens)
    made.post_processor = surround(made, *template)
    return made


def wordpiece(normalizer, size=600):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer, made.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=size, special_tokens=names, show_progress=False))
    made.post_processor = surround(made, "[CLS]", "[SEP]")
    return made


def precompiled():
    return normalizers.Precompiled(charsmap(RULES))


CHATML = special("<|endoftext|>", "<|im_start|>", "<|im_end|>")
THINK = [AddedToken(text, normalized=False) for text in ("<think>", "</think>", "<tool_call>", "</tool_call>")]
HARMONY = special("<|startoftext|>", "<|endoftext|>", "<|return|>", "<|channel|>", "<|start|>", "<|end|>", "<|message|>")
TURNS = special("<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>")
RUNS = [AddedToken(text, normalized=False) for text in ["\n" * n for n in range(2, 8)] + ["▁" * n for n in range(2, 8)]
        + ["\t", "<h1>", "</h1>", "<table>"]]
PREPEND = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])

# Name: a function that makes the tokenizer, the names of BOS and EOS.
KINDS = {
    "llama3": (lambda: byte_level(split(LLAMA3), False, special("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"),
                                  template=("<|begin_of_text|>", None), ignore_merges=True),
               "<|begin_of_text|>", "<|end_of_text|>"),
    "qwen2": (lambda: byte_level(split(QWEN2), False, CHATML + THINK, normalizers.NFC()), None, "<|im_end|>"),
    "qwen35": (lambda: byte_level(split(QWEN35), False, CHATML + THINK, normalizers.NFC()), None, "<|im_end|>"),
    "gpt2": (lambda: byte_level([], True, [AddedToken("<|endoftext|>", special=True, normalized=True)]),
             "<|endoftext|>", "<|endoftext|>"),
    "smollm": (lambda: byte_level([pre_tokenizers.Digits(True)], True, CHATML), "<|im_start|>", "<|im_end|>"),
    "gpt-oss": (lambda: byte_level(split(O200K), False, HARMONY), "<|startoftext|>", "<|return|>"),
    "tekken": (lambda: byte_level(split(TEKKEN), False, special("<s>", "</s>", "[INST]", "[/INST]"),
                                  template=("<s>", None), ignore_merges=True), "<s>", "</s>"),
    "olmo2": (lambda: byte_level(split(LLAMA3), False, CHATML), None, "<|endoftext|>"),
    "deepseek3": (lambda: byte_level(split(r"\p{N}{1,3}", CJK, DEEPSEEK3), False,
                                     special("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"), normalizers.Sequence([]),
                                     ("<｜begin▁of▁sentence｜>", None)),
                  "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    "roberta": (lambda: byte_level([], True, special("<s>", "</s>", "<pad>") + special("<mask>", lstrip=True),
                                   template=("<s>", "</s>"), add_prefix_space=True), "<s>", "</s>"),
    "unnamed": (lambda: byte_level([pre_tokenizers.Punctuation("contiguous"), *split(r"(?=(?:\d{3})+(?!\d))"),
                                    *split("_", behavior="merged_with_next"),
                                    *split(r"\s+", behavior="merged_with_previous"),
                                    *split(r"[A-Z]\w*", behavior="contiguous")], False,
                                   special("<|endoftext|>"), normalizers.NFKC()), None, "<|endoftext|>"),
    "added": (lambda: byte_level(split(QWEN2), False, [
        AddedToken("<a>", special=True, normalized=False, lstrip=True),
        AddedToken("<b>", special=True, normalized=False, rstrip=True),
        AddedToken("<c>", normalized=False, lstrip=True, rstrip=True),
        AddedToken("word", normalized=False, single_word=True),
        AddedToken("Fox", normalized=True), AddedToken("É!", normalized=True, single_word=True),
        AddedToken("<a><b>", special=True, normalized=True)],
        normalizers.Sequence([normalizers.Lowercase(), normalizers.NFD(), normalizers.StripAccents()])), None, "<a>"),
    "gemma": (lambda: with_bytes(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"),
                                 TURNS + RUNS, ("<bos>", None)), "<bos>", "<eos>"),
    "llama2": (lambda: with_bytes(PREPEND, None, special("<unk>", "<s>", "</s>"), ("<s>", None)), "<s>", "</s>"),
    "llama2-old": (lambda: with_bytes(PREPEND, None, [AddedToken(text, special=True, normalized=True)
                                                      for text in ("<unk>", "<s>", "</s>")], ("<s>", None)), "<s>", "</s>"),
    "mistral": (lambda: with_bytes(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                                   special("<unk>", "<s>", "</s>", "[INST]", "[/INST]"), ("<s>", None)), "<s>", "</s>"),
    "t5": (lambda: unigram(precompiled(), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                                                   pre_tokenizers.Metaspace()]),
                           ["<pad>", "</s>", "<unk>"], special("<pad>", "</s>", "<unk>", "<extra_id_0>", "<extra_id_1>"),
                           (None, "</s>"), "<unk>"), None, "</s>"),
    "xlm-r": (lambda: unigram(normalizers.Sequence([precompiled(), normalizers.Replace(Regex(" {2,}"), " ")]),
                              pre_tokenizers.Metaspace(), ["<s>", "<pad>", "</s>", "<unk>"],
                              special("<s>", "<pad>", "</s>", "<unk>") + special("<mask>", lstrip=True), ("<s>", "</s>"),
                              "<unk>"), "<s>", "</s>"),
    "unigram-bytes": (lambda: unigram(normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()]),
                                      pre_tokenizers.Metaspace(prepend_scheme="never"), ["<unk>", "<s>", "</s>"],
                                      special("<unk>", "<s>", "</s>"), ("<s>", None), "<unk>", byte_fallback=True), "<s>", "</s>"),
    "bert": (lambda: wordpiece(normalizers.BertNormalizer()), "[CLS]", "[SEP]"),
    "bert-cased": (lambda: wordpiece(normalizers.BertNormalizer(lowercase=False)), "[CLS]", "[SEP]"),
}


def texts_for(made, rng, count):
    tokens = sorted(token.encode() for token in made.get_vocab()) + [b" "]
    texts = [random_text(rng, tokens).decode("utf-8", "replace") for _ in range(count)]
    return ["", *(line.strip("\n") for line in TEXTS if line.strip()), *MORE_TEXTS, *texts]


def write_golden(path, made, rng, count):
    with open(path, "w", encoding="ascii") as out:
        out.write(f"# Token ids of PyPI's tokenizers {VERSION}, made by tools/golden/make_tokenizers.py.\n")
        for i, text in enumerate(texts_for(made, rng, count)):
            ids = made.encode(text, add_special_tokens=i % 2 == 0).ids
            out.write(" ".join(["text", str(i % 2), text.encode().hex() or "-"] + [str(id) for id in ids]) + "\n")


def write_weights(folder, n_vocab):
    """A model of zeros: config.json and model.safetensors."""
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 32,
              "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "rms_norm_eps": 1e-5,
              "max_position_embeddings": 64, "rope_theta": 10000.0, "tie_word_embeddings": True, "vocab_size": n_vocab}
    square = [f"layers.0.{name}_proj.weight" for name in
              ("self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o", "mlp.gate", "mlp.up", "mlp.down")]
    shapes = {"embed_tokens.weight": [n_vocab, 32], **{name: [32, 32] for name in square},
              **{f"{name}.weight": [32] for name in
                 ("norm", "layers.0.input_layernorm", "layers.0.post_attention_layernorm")}}
    header, size = {}, 0
    for name, shape in shapes.items():
        end = size + 4 * int(numpy.prod(shape))
        header["model." + name] = {"dtype": "F32", "shape": shape, "data_offsets": [size, end]}
        size = end
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + bytes(size))
    (folder / "config.json").write_text(json.dumps(config) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--weights", action="store_true")
    args = parser.parse_args()
    if tokenizers.__version__ != VERSION:
        sys.exit(f"tokenizers is {tokenizers.__version__}, expected {VERSION}")
    for name, (make, bos, eos) in KINDS.items():
        if args.only not in (None, name):
            continue
        folder = args.out / name
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "tokenizer.json"
        if args.train or not file.exists():
            file.write_text(make().to_str(pretty=False) + "\n", encoding="utf-8")
        made = Tokenizer.from_file(str(file))
        config = {"bos_token": bos, "eos_token": {"content": eos}}
        (folder / "tokenizer_config.json").write_text(json.dumps(config) + "\n", encoding="utf-8")
        write_golden(folder / "expected.golden", made, random.Random(args.seed), args.count)
        if args.weights:
            write_weights(folder, max(made.get_vocab().values()) + 1)


if __name__ == "__main__":
    main()
