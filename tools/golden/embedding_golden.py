#!/usr/bin/env python3
"""Regenerates golden files of embeddings: those of an independent engine.

usage: embedding_golden.py MODEL.gguf OUT.embeddings [--pooling P] [--lengths N,N,...]

The reference runs the model's F32 twin, as in golden.py, on random tokens. A golden file is lines of words:
    # provenance
    case POOLING              none, mean, cls, last or rank
    tokens ID ID ...
    values X X ...            as computed, not scaled; with pooling none of all tokens
"""

import argparse
import pathlib
import sys

import gguf
import numpy as np
import xllamacpp

from f32_twin import twin_of
from golden import file_hash, post

POOLINGS = {"none": 0, "mean": 1, "cls": 2, "last": 3, "rank": 4}


def open_server(model, pooling, n_ctx=512):
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = params.n_batch = params.n_ubatch = n_ctx
    params.n_parallel = 1
    params.embedding = True
    params.embd_normalize = -1
    params.pooling_type = xllamacpp.llama_pooling_type(POOLINGS[pooling])
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return xllamacpp.Server(params)


def embed(server, tokens):
    reply = post(server, "/embedding", {"content": tokens, "embd_normalize": -1})
    return np.array(reply[0]["embedding"]).ravel()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--pooling", choices=POOLINGS, default="mean")
    parser.add_argument("--lengths", default="1,2,40,130,500")
    parser.add_argument("--first", type=int, default=2, help="the least id that is chosen")
    args = parser.parse_args()
    fields = gguf.GGUFReader(args.model).fields
    n_vocab = len(fields["tokenizer.ggml.tokens"].data)
    labels = [field for name, field in fields.items() if name.endswith(".classifier.output_labels")]
    # After the scores the reference returns uninitialised memory.
    n_value = len(labels[0].data) if args.pooling == "rank" else None
    random = np.random.Generator(np.random.PCG64(7))
    with twin_of(args.model, None) as twin, open(args.out, "w") as out:
        server = open_server(twin, args.pooling, max(512, *map(int, args.lengths.split(","))))
        out.write(f"# model {pathlib.Path(args.model).name} sha256 {file_hash(args.model)}\n")
        out.write(f"# reference xllamacpp {xllamacpp.__version__} on the F32 twin, F32 cache\n")
        out.write(f"# command tools/golden/embedding_golden.py MODEL OUT --pooling {args.pooling} ")
        out.write(f"--lengths {args.lengths}\n")
        for length in map(int, args.lengths.split(",")):
            tokens = random.integers(args.first, n_vocab, length).tolist()
            values = embed(server, tokens)[:n_value]
            out.write(f"case {args.pooling}\ntokens {' '.join(map(str, tokens))}\n")
            out.write(f"values {' '.join(f'{x:.6g}' for x in values)}\n")
            print(f"{length} tokens, {len(values)} values", file=sys.stderr)


if __name__ == "__main__":
    main()
