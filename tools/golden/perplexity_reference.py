#!/usr/bin/env python3
"""Prints the perplexity that an independent engine finds, window by window.

usage: perplexity_reference.py MODEL.gguf TEXT [--ctx N] [--chunks N] [--twin TWIN.gguf]

The engine (PyPI xllamacpp) runs the F32 twin of MODEL, made in a temporary folder unless --twin names
one, with an F32 cache. The windows are those of `glinfer perplexity`: N tokens each without overlap, the
first one replaced by BOS where the model adds it, and of each window the second half counts.
"""
import argparse
import ctypes
import hashlib
import math
import pathlib
import sys

import numpy as np
import xllamacpp

from f32_twin import twin_of


class Batch(ctypes.Structure):
    _fields_ = [
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    ]


class Blob(ctypes.Structure):
    """A struct of settings of which only a few words are known; larger than any of them."""

    _fields_ = [("words", ctypes.c_uint32 * 256)]


N_CTX, N_BATCH, N_UBATCH = 0, 1, 2  # words of the context's settings
F16, F32 = 1, 0


def open_library():
    path = next(pathlib.Path(xllamacpp.__file__).parent.glob("xllamacpp*.so"))
    library = ctypes.CDLL(str(path))
    pointer = ctypes.c_void_p
    for name, result, arguments in (
        ("llama_backend_init", None, []),
        ("llama_model_default_params", Blob, []),
        ("llama_context_default_params", Blob, []),
        ("llama_model_load_from_file", pointer, [ctypes.c_char_p, Blob]),
        ("llama_init_from_model", pointer, [pointer, Blob]),
        ("llama_model_get_vocab", pointer, [pointer]),
        ("llama_vocab_n_tokens", ctypes.c_int32, [pointer]),
        ("llama_vocab_get_add_bos", ctypes.c_bool, [pointer]),
        ("llama_vocab_bos", ctypes.c_int32, [pointer]),
        ("llama_get_memory", pointer, [pointer]),
        ("llama_memory_clear", None, [pointer, ctypes.c_bool]),
        ("llama_batch_init", Batch, [ctypes.c_int32] * 3),
        ("llama_decode", ctypes.c_int32, [pointer, Batch]),
        ("llama_get_logits", ctypes.POINTER(ctypes.c_float), [pointer]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    library.llama_tokenize.argtypes = [pointer, ctypes.c_char_p, ctypes.c_int32, pointer,
                                       ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]
    library.llama_backend_init()
    return library


def set_f32_cache(params):
    """Sets the types of the cache: the first two neighbouring words after the floats that are F16."""
    for i in range(22, 40):
        if params.words[i] == F16 and params.words[i + 1] == F16:
            params.words[i] = params.words[i + 1] = F32
            return
    sys.exit("this version of xllamacpp has other settings: the cache's types were not found")


def open_context(library, twin, n_ctx):
    model = library.llama_model_load_from_file(str(twin).encode(), library.llama_model_default_params())
    params = library.llama_context_default_params()
    if (params.words[N_CTX], params.words[N_BATCH], params.words[N_UBATCH]) != (512, 2048, 512):
        sys.exit("this version of xllamacpp has other settings: the context's size was not found")
    params.words[N_CTX] = params.words[N_BATCH] = n_ctx
    set_f32_cache(params)
    return model, library.llama_init_from_model(model, params)


def tokenize(library, vocab, text):
    ids = np.zeros(len(text) + 16, np.int32)
    n = library.llama_tokenize(vocab, text, len(text), ids.ctypes.data, len(ids), True, False)
    return ids[:n].copy()


def score(library, context, batch, ids, first, n_vocab):
    """Log-probabilities of ids[first + 1] and all after it."""
    n = len(ids)
    library.llama_memory_clear(library.llama_get_memory(context), True)
    batch.n_tokens = n
    for i in range(n):
        batch.token[i], batch.pos[i], batch.n_seq_id[i] = int(ids[i]), i, 1
        batch.seq_id[i][0], batch.logits[i] = 0, i >= first
    if library.llama_decode(context, batch) != 0:
        sys.exit("the reference cannot decode a window")
    logits = np.ctypeslib.as_array(library.llama_get_logits(context), (n - first, n_vocab))[:-1]
    logits = logits.astype(np.float64)
    most = logits.max(axis=1, keepdims=True)
    sums = np.log(np.exp(logits - most).sum(axis=1)) + most[:, 0]
    return logits[np.arange(n - first - 1), ids[first + 1 :]] - sums


def measure(args, twin):
    library = open_library()
    model, context = open_context(library, twin, args.ctx)
    vocab = library.llama_model_get_vocab(model)
    text = pathlib.Path(args.text).read_bytes().removesuffix(b"\n")
    ids = tokenize(library, vocab, text)
    n_chunk = min(args.chunks or len(ids), len(ids) // args.ctx)
    batch = library.llama_batch_init(args.ctx, 0, 1)
    scores = np.zeros(0)
    for chunk in range(n_chunk):
        window = ids[chunk * args.ctx : (chunk + 1) * args.ctx].copy()
        if library.llama_vocab_get_add_bos(vocab):
            window[0] = library.llama_vocab_bos(vocab)
        n_vocab = library.llama_vocab_n_tokens(vocab)
        scores = np.append(scores, score(library, context, batch, window, args.ctx // 2, n_vocab))
        print(f"[{chunk + 1}]{math.exp(-scores.mean()):.6f}", flush=True)
    error = math.exp(-scores.mean()) * scores.std() / math.sqrt(len(scores) - 1)
    print(f"# model {pathlib.Path(args.model).name} sha256 {file_hash(args.model)}")
    print(f"# text {pathlib.Path(args.text).name} sha256 {file_hash(args.text)}, {len(ids)} tokens")
    print(f"# reference xllamacpp {xllamacpp.__version__} on the F32 twin, F32 cache")
    print(f"perplexity {math.exp(-scores.mean()):.6f} error {error:.6f} tokens {len(scores)}")


def file_hash(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--ctx", type=int, default=512)
    parser.add_argument("--chunks", type=int)
    parser.add_argument("--twin")
    args = parser.parse_args()
    with twin_of(args.model, args.twin) as twin:
        measure(args, twin)


if __name__ == "__main__":
    main()
