#!/usr/bin/env python3
"""Regenerates golden files: greedy tokens and log-probabilities of an independent engine.

usage: golden.py MODEL.gguf PROMPTS.json OUT.golden [--steps N] [--twin TWIN.gguf] [--lora SCALE:FILE]...

MODEL is what glinfer will run. The reference runs its F32 twin (made in a temporary folder unless
--twin names one) with an F32 cache, because llama.cpp rounds activations to 8 bits for quantised weights.
PROMPTS is a list of {"name", "text"} or {"name", "tokens"}; "repeat" multiplies the text.

A golden file is lines of words:
    # provenance
    case NAME
    prompt ID ID ...                  token ids
    step ID ID LOGPROB ...            the token taken, then the ten most likely, best first

End-of-text tokens are never taken (the reference's ignore_eos), but keep their log-probability. A step
has no log-probabilities where the reference held the token's text back, it being half a character.
"""

import argparse
import codecs
import hashlib
import json
import pathlib
import re
import sys
import urllib.request

import gguf
import xllamacpp

from f32_twin import twin_of


def adapter_of(word):
    scale, path = word.split(":", 1)
    adapter = xllamacpp.CommonAdapterLoraInfo()
    adapter.path, adapter.scale = path, float(scale)
    return adapter


def open_server(model, n_ctx, lora):
    params = xllamacpp.CommonParams()
    params.lora_adapters = [adapter_of(word) for word in lora]
    params.model.path = str(model)
    params.n_ctx = n_ctx
    params.sampling.temp = 0.0
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return xllamacpp.Server(params)


def post(server, path, body):
    address = server.listening_address
    if not address.startswith("http"):
        address = "http://" + address
    request = urllib.request.Request(
        address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=3600) as reply:
        return json.load(reply)


def prompt_tokens(server, prompt):
    if "tokens" in prompt:
        return prompt["tokens"]
    text = prompt["text"] * prompt.get("repeat", 1)
    body = {"content": text, "add_special": True, "parse_special": True}
    return post(server, "/tokenize", body)["tokens"]


def complete(server, tokens, n_steps):
    body = {
        "prompt": tokens,
        "n_predict": n_steps,
        "temperature": 0,
        "n_probs": 10,
        "cache_prompt": False,
        "ignore_eos": True,
        "return_tokens": True,
    }
    reply = post(server, "/completion", body)
    return reply["tokens"], reply["completion_probabilities"]


def gpt2_bytes():
    """The byte that each character of a byte-level BPE token stands for."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table.update({chr(256 + i): byte for i, byte in enumerate(others)})
    return table


def token_bytes(fields):
    """A function from a token's id to the bytes that it stands for."""
    vocabulary = fields["tokenizer.ggml.tokens"].contents()
    if fields["tokenizer.ggml.model"].contents() == "gpt2":
        table = gpt2_bytes()
        return lambda token: bytes(table[c] for c in vocabulary[token] if c in table)

    def sentencepiece(token):
        text = vocabulary[token]
        if re.fullmatch("<0x[0-9A-F]{2}>", text):
            return bytes([int(text[3:5], 16)])
        return text.replace("\u2581", " ").encode()

    return sentencepiece


def align(tokens, probs, to_bytes):
    """Pairs each token with its log-probabilities, or with none where its text was held back."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    steps, entries = [], iter(probs)
    for token in tokens:
        decoder.decode(to_bytes(token))
        top = []
        if not decoder.getstate()[0]:
            entry = next(entries, None)
            if entry is None or entry["id"] != token:
                raise SystemExit(f"token {token} has no log-probabilities: {entry}")
            top = [(t["id"], t["logprob"]) for t in entry["top_logprobs"]]
        steps.append((token, top))
    return steps


def write_case(out, name, tokens, steps):
    out.write(f"case {name}\nprompt {' '.join(map(str, tokens))}\n")
    for token, top in steps:
        words = [f"step {token}", *(f"{i} {p:.6f}" for i, p in top)]
        out.write(" ".join(words) + "\n")


def file_hash(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def regenerate(args, twin):
    prompts = json.loads(pathlib.Path(args.prompts).read_text())
    fields = gguf.GGUFReader(args.model).fields
    to_bytes = token_bytes(fields)
    server = open_server(twin, args.n_ctx, args.lora)
    with open(args.out, "w") as out:
        out.write(f"# model {pathlib.Path(args.model).name} sha256 {file_hash(args.model)}\n")
        out.write(f"# reference xllamacpp {xllamacpp.__version__} on the F32 twin, F32 cache\n")
        out.write(f"# command tools/golden/golden.py MODEL {pathlib.Path(args.prompts).name} OUT ")
        out.write(f"--steps {args.steps}\n")
        for word in args.lora:
            scale, path = word.split(":", 1)
            out.write(f"# adapter {pathlib.Path(path).name} sha256 {file_hash(path)} scale {scale}\n")
        for prompt in prompts:
            tokens = prompt_tokens(server, prompt)
            taken, probs = complete(server, tokens, prompt.get("steps", args.steps))
            steps = align(taken, probs, to_bytes)
            write_case(out, prompt["name"], tokens, steps)
            print(f"{prompt['name']}: {len(tokens)} tokens, {len(steps)} steps", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("prompts")
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--n-ctx", type=int, default=2048)
    parser.add_argument("--twin")
    parser.add_argument("--lora", action="append", default=[])
    args = parser.parse_args()
    with twin_of(args.model, args.twin) as twin:
        regenerate(args, twin)


if __name__ == "__main__":
    main()
