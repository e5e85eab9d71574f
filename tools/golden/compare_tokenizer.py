#!/usr/bin/env python3
"""Compares token ids with llama.cpp's, or a folder's with those of the tokenizers library, over random texts.

usage: compare_tokenizer.py MODEL [--program tokenize_lines] [--count N] [--seed S] [--chats N]
                            [--golden OUT.golden]

MODEL is a GGUF file or a folder of Hugging Face. A file may hold a vocabulary alone; conversations, which are compared
of files only, need a whole model. --program is the test program
tests/golden/tokenize_lines. With --golden the texts and ids of the reference are written as a golden
file, and nothing is compared. Exits with 1 if any ids differ.

The reference is the llama.cpp in PyPI's xllamacpp 2026.10.11549: texts go through its llama_tokenize,
conversations through its server's /apply-template, which runs the file's own Jinja. That of a folder is PyPI's
tokenizers 0.23.3: texts are UTF-8, and their special tokens are found.
"""

import argparse
import ctypes
import hashlib
import json
import pathlib
import random
import struct
import subprocess
import sys
import urllib.request

from random_texts import one_script, random_text, whitespace, words

try:
    import xllamacpp
except ImportError:  # is not needed for folders
    xllamacpp = None

VERSION = "2026.10.11549"
NO_BOS, NO_SPECIAL = 1, 2
CHAT = 0xFFFFFFFF

# struct llama_model_params of that version, passed by value: its size rounded up, and two of its booleans.
PARAMS_SIZE, VOCAB_ONLY, USE_EXTRA_BUFTS = 80, 72, 74


class Params(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * PARAMS_SIZE)]


class Reference:
    """llama.cpp's tokenizer for one GGUF file."""

    def __init__(self, model):
        if not xllamacpp or xllamacpp.__version__ != VERSION:
            sys.exit(f"xllamacpp {VERSION} is needed")
        lib = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
        lib.llama_model_default_params.restype = Params
        lib.llama_model_load_from_file.restype = ctypes.c_void_p
        lib.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Params]
        lib.llama_model_get_vocab.restype = ctypes.c_void_p
        lib.llama_model_get_vocab.argtypes = [ctypes.c_void_p]
        lib.llama_vocab_n_tokens.argtypes = [ctypes.c_void_p]
        lib.llama_vocab_get_text.restype = ctypes.c_char_p
        lib.llama_vocab_get_text.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        lib.llama_tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p,
                                       ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]
        self.silence = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
        lib.llama_log_set(self.silence, None)
        params = lib.llama_model_default_params()
        if params.bytes[VOCAB_ONLY] != 0 or params.bytes[USE_EXTRA_BUFTS] != 1:
            sys.exit("struct llama_model_params is not laid out as expected")
        params.bytes[VOCAB_ONLY] = 1
        handle = lib.llama_model_load_from_file(str(model).encode(), params)
        if not handle:
            sys.exit(f"the reference cannot load {model}")
        self.lib, self.vocab = lib, lib.llama_model_get_vocab(handle)

    def token_texts(self):
        return [self.lib.llama_vocab_get_text(self.vocab, i) for i in range(self.lib.llama_vocab_n_tokens(self.vocab))]

    def tokenize(self, text, flags):
        ids = (ctypes.c_int32 * (3 * len(text) + 16))()
        n = self.lib.llama_tokenize(self.vocab, text, len(text), ids, len(ids), not flags & NO_BOS,
                                    not flags & NO_SPECIAL)
        if n < 0:
            sys.exit(f"the reference wants room for {-n} ids of {len(text)} bytes")
        return ids[:n]


class FolderReference:
    """The tokenizers library for one folder."""

    def __init__(self, folder):
        import tokenizers
        self.tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))

    def token_texts(self):
        return sorted(text.encode() for text in self.tokenizer.get_vocab())

    def tokenize(self, text, flags):
        return self.tokenizer.encode(text.decode(), add_special_tokens=not flags & NO_BOS).ids

    @staticmethod
    def fit(text, flags):
        """A text and flags that the library can take."""
        return text.decode("utf-8", "replace").encode(), flags & NO_BOS


def random_chat(rng):
    """A conversation that ends with the user, contents free of special tokens and of invalid UTF-8."""
    roles = (["system"] if rng.random() < 0.5 else []) + ["user", "assistant"] * rng.randrange(4) + ["user"]
    kinds = [lambda r: words(r, r.randrange(1, 25)), one_script, whitespace]
    return [(role, rng.choice(kinds)(rng).decode("utf-8", "replace").replace("\0", "").replace("<|", "<"))
            for role in roles]


class Templates:
    """The model's own Jinja, run by the reference's server."""

    def __init__(self, model):
        params = xllamacpp.CommonParams()
        params.model.path, params.n_ctx, params.warmup, params.use_jinja = str(model), 512, False, True
        self.server = xllamacpp.Server(params)
        address = self.server.listening_address
        self.address = address if address.startswith("http") else "http://" + address

    def apply(self, chat):
        body = {"messages": [{"role": role, "content": content} for role, content in chat]}
        request = urllib.request.Request(self.address + "/apply-template", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=60))["prompt"].encode()


def text_record(text, flags):
    return struct.pack("=II", flags, len(text)) + text


def chat_record(chat):
    record = struct.pack("=II", CHAT, len(chat))
    for role, content in chat:
        for part in (role.encode(), content.encode()):
            record += struct.pack("=I", len(part)) + part
    return record


def run_program(program, model, records):
    done = subprocess.run([program, model], input=b"".join(records), stdout=subprocess.PIPE, check=False)
    lines = done.stdout.decode().splitlines()
    if done.returncode or len(lines) != len(records):
        sys.exit(f"{program} gave {len(lines)} lines for {len(records)} records and status {done.returncode}")
    return [[int(word) for word in line.split()] for line in lines]


def write_golden(path, model, seed, texts, chats, expected):
    digest = hashlib.sha256(pathlib.Path(model).read_bytes()).hexdigest()
    with open(path, "w", encoding="ascii") as out:
        out.write(f"# Token ids of llama.cpp as in PyPI's xllamacpp {VERSION}.\n"
                  f"# Made by tools/golden/compare_tokenizer.py {pathlib.Path(model).name} --seed {seed} --count {len(texts)} "
                  f"--chats {len(chats)} --golden.\n# Model: sha256 {digest}.\n")
        for (text, flags), ids in zip(texts, expected):
            out.write(" ".join(["text", str(flags), text.hex() or "-"] + [str(i) for i in ids]) + "\n")
        for chat, ids in zip(chats, expected[len(texts):]):
            for role, content in chat:
                out.write(f"message {role} {content.encode().hex() or '-'}\n")
            out.write(" ".join(["chat"] + [str(i) for i in ids]) + "\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("model")
    parser.add_argument("--program", default="build/tests/golden/tokenize_lines")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chats", type=int, default=0)
    parser.add_argument("--golden")
    args = parser.parse_args()

    rng = random.Random(args.seed)
    is_folder = pathlib.Path(args.model).is_dir()
    if is_folder and (args.chats or args.golden):
        sys.exit("--chats and --golden need a GGUF file")
    reference = (FolderReference if is_folder else Reference)(args.model)
    tokens = reference.token_texts()
    texts = [(b"", 0), (b"", 3)] + [(random_text(rng, tokens), rng.randrange(4)) for _ in range(args.count - 2)]
    if is_folder:
        texts = [FolderReference.fit(*text) for text in texts]
    chats = [random_chat(rng) for _ in range(args.chats)]
    expected = [reference.tokenize(text, flags) for text, flags in texts]
    if chats:
        templates = Templates(args.model)
        expected += [reference.tokenize(templates.apply(chat), 0) for chat in chats]
    if args.golden:
        write_golden(args.golden, args.model, args.seed, texts, chats, expected)
        return 0
    records = [text_record(*text) for text in texts] + [chat_record(chat) for chat in chats]
    inputs, n_wrong = texts + chats, 0
    for what, want, got in zip(inputs, expected, run_program(args.program, args.model, records)):
        if want != got:
            n_wrong += 1
            if n_wrong <= 10:
                print(f"differs: {what}\n  reference {want}\n  glinfer   {got}")
    print(f"{pathlib.Path(args.model).name}: seed {args.seed}, {len(texts)} texts, {len(chats)} conversations, "
          f"{n_wrong} differences")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
