#!/usr/bin/env python3
"""Writes tiny random models as mlx-lm quantises them, and golden files of them by mlx, for tests.

    make_tiny_mlx.py OUT GOLDEN PROMPTS.json [MODEL...]    folders OUT/MODEL and files GOLDEN/MODEL.golden

Modes, bits and groups differ from module to module. The tokenizer is that of tests/data/folders/llama. The reference
computes with the quantised weights and activations in f32. Needs PyPI mlx[cpu], mlx-lm and numpy.
"""
import argparse
import importlib
import json
import pathlib
import shutil
import sys
import zlib
from importlib.metadata import version

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.utils import quantize_model, save_config, save_model

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOKENIZER = ROOT / "tests/data/folders/llama"
N_STEPS = 24
STOPS = (1, 291)  # <|endoftext|> and <|im_end|>, which end an answer
LEAD_BYTES = slice(2 + 0xC0, 2 + 0x100)  # tokens that begin a UTF-8 character


def affine(bits, group):
    return {"mode": "affine", "bits": bits, "group_size": group}


def floats(mode):
    return {"mode": mode, **{"mxfp4": {"bits": 4, "group_size": 32}, "nvfp4": {"bits": 4, "group_size": 16},
                             "mxfp8": {"bits": 8, "group_size": 32}}[mode]}


# The module's own quantisation by the end of its path, else that of the model.
MODELS = {
    "mlx_affine": {
        "default": affine(4, 64),
        "layers.0.self_attn.q_proj": affine(3, 64), "layers.0.self_attn.k_proj": affine(5, 32),
        "layers.0.self_attn.v_proj": affine(6, 64), "layers.0.self_attn.o_proj": affine(4, 32),
        "layers.0.mlp.gate_proj": affine(4, 128), "layers.0.mlp.up_proj": affine(2, 32),
        "layers.0.mlp.down_proj": affine(8, 128), "lm_head": affine(6, 32),
    },
    "mlx_floats": {
        "default": floats("mxfp4"),
        "layers.0.self_attn.q_proj": floats("nvfp4"), "layers.0.self_attn.k_proj": floats("mxfp8"),
        "layers.0.self_attn.v_proj": affine(8, 64), "layers.0.mlp.gate_proj": floats("nvfp4"),
        "shape": {"tie_word_embeddings": True},
    },
    "mlx_experts": {
        "default": affine(4, 32), "mlp.gate": affine(8, 32), "switch_mlp.down_proj": affine(6, 32),
        "shape": {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 64, "head_dim": 32,
                  "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 64, "moe_intermediate_size": 64,
                  "num_experts": 4, "num_experts_per_tok": 2, "decoder_sparse_step": 1, "mlp_only_layers": [],
                  "norm_topk_prob": True},
    },
}
SHAPE = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "bos_token_id": 0, "eos_token_id": 1, "hidden_act": "silu",
         "hidden_size": 128, "intermediate_size": 256, "max_position_embeddings": 512, "num_attention_heads": 4,
         "num_key_value_heads": 2, "num_hidden_layers": 1, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "vocab_size": 304,
         "tie_word_embeddings": False}


def draw(name, shape):
    random = np.random.default_rng([1, zlib.crc32(name.encode())])
    value = random.standard_normal(shape)
    if len(shape) == 1:
        return 1 + 0.2 * value
    if "embed_tokens" in name or "lm_head" in name:
        value *= 2.5 / np.sqrt(shape[-1])
        value[LEAD_BYTES] = 0  # a greedy choice never begins a character of several bytes
        return value
    return 1.3 / np.sqrt(shape[-1]) * value


def make_model(row, config):
    module = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    model = module.Model(module.ModelArgs.from_dict(config))
    weights = [(name, mx.array(draw(name, value.shape).astype(np.float32)).astype(mx.bfloat16))
               for name, value in tree_flatten(model.parameters())]
    model.update(tree_unflatten(weights))
    default = row["default"]

    def predicate(path, module):
        own = next((value for end, value in row.items() if path.endswith(end)), default)
        return hasattr(module, "to_quantized") and (own if own != default else True)

    return quantize_model(model, config, default["group_size"], default["bits"], default["mode"], quant_predicate=predicate)


def log_probabilities(model, tokens):
    logits = model(mx.array([tokens]))[0, -1].astype(mx.float32)
    return np.array(logits - mx.logsumexp(logits), np.float32)


def write_golden(path, name, model, prompts):
    with open(path, "w", encoding="ascii") as out:
        out.write(f"# model {name}, a folder\n# reference mlx {version('mlx')}, mlx-lm {version('mlx-lm')}, activations in f32\n")
        out.write("# command tools/golden/mlx/make_tiny_mlx.py OUT GOLDEN tiny.prompts.json\n")
        for prompt in json.loads(pathlib.Path(prompts).read_text()):
            tokens = list(prompt["tokens"])
            out.write(f"case {prompt['name']}\nprompt {' '.join(map(str, tokens))}\n")
            for _ in range(N_STEPS):
                probs = log_probabilities(model, tokens)
                best = np.argsort(-probs, kind="stable")
                token = next(int(i) for i in best if i not in STOPS)
                out.write(" ".join([f"step {token}", *(f"{i} {probs[i]:.6f}" for i in best[:10])]) + "\n")
                tokens.append(token)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("prompts")
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    for name in args.models or MODELS:
        row = dict(MODELS[name])
        model, config = make_model(row, {**SHAPE, **row.pop("shape", {})})
        folder = args.out / name
        save_model(folder, model)
        save_config(config, folder / "config.json")
        (folder / "model.safetensors.index.json").unlink()
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(TOKENIZER / file, folder)
        model.update(tree_unflatten([(n, v.astype(mx.float32) if v.dtype == mx.bfloat16 else v)
                                     for n, v in tree_flatten(model.parameters())]))
        write_golden(args.golden / f"{name}.golden", name, model, args.prompts)
        print(f"{name}: {(folder / 'model.safetensors').stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
