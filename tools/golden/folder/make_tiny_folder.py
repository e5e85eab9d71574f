#!/usr/bin/env python3
"""Writes tiny random models as Hugging Face folders, for tests: config.json, model.safetensors, tokenizer.json.

The classes of transformers give names and shapes; values are drawn here, so that the same seed gives the same bytes.
Weights are scaled so that logits spread over a few nats and depend on the context.

    make_tiny_folder.py OUT [FAMILY...]    folders OUT/FAMILY, of all families by default

Needs PyPI transformers, torch, safetensors, numpy and gguf.
"""
import argparse
import json
import math
import pathlib
import re
import sys
import tempfile
import zlib

import numpy as np
import torch
import transformers
from safetensors.torch import save_file

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from make_tiny_gguf import CHATML, LEAD_BYTES, LOGIT_SPREAD, MERGES, byte_alphabet
from tiny_families import FAMILIES, TURN_END

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
MAX_TOWER = 300  # elements; larger tensors of towers for pictures are left out
SPECIAL = ["<|startoftext|>", "<|endoftext|>"]
WORDS = ("the a of and to in is it was on ##s ##ed ##ing ##er ##ly model weight matrix river winter silver light "
         "write read open close one two three . , ? ! - ##0 0 1 2 3").split()


def added(token, index):
    return {"id": index, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True}


def bpe_tokenizer():
    tokens = [*SPECIAL, *byte_alphabet(), *(merge.replace(" ", "") for merge in MERGES)]
    turns = ["<|im_start|>", "<|im_end|>"]
    assert len(tokens) + 1 == TURN_END
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {token: i for i, token in enumerate(tokens)}, "merges": MERGES}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {"version": "1.0", "truncation": None, "padding": None,
                 "added_tokens": [*(added(token, i) for i, token in enumerate(SPECIAL)),
                                  *(added(token, len(tokens) + i) for i, token in enumerate(turns))],
                 "normalizer": None, "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level, "model": model}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": SPECIAL[0], "eos_token": SPECIAL[1],
              "chat_template": CHATML, "clean_up_tokenization_spaces": False}
    return tokenizer, config


def wordpiece_tokenizer():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    tokens = dict.fromkeys([*special, *letters, *("##" + letter for letter in letters), *WORDS])
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [added(token, i) for i, token in enumerate(special)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                     {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                     {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                               "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary}}
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "unk_token": "[UNK]", "sep_token": "[SEP]",
              "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
    return tokenizer, config


TOKENIZERS = {"bpe": bpe_tokenizer, "wordpiece": wordpiece_tokenizer}


def draw(name, shape, scale=1.0, base=0.0):
    rng = np.random.default_rng([1, zlib.crc32(name.encode())])
    return torch.from_numpy((base + scale * rng.standard_normal(shape)).astype(np.float32))


def value_of(name, shape, row):
    """Returns the value of a tensor by its name: gains near 1, or 0 where a family adds 1 to them, matrices of unit gain."""
    if name.endswith("layer_scalar"):
        return draw(name, shape, 0.1, 0.7)
    if "norm" in name.rpartition(".")[0].rpartition(".")[2].lower() and name.endswith("weight"):
        return draw(name, shape, 0.2, 0.0 if re.search(row.get("zero", "^$"), name) else 1.0)
    if name.endswith("A_log"):
        return draw(name, shape, 0.5, -1.0)
    if name.endswith(".dt_bias"):
        return draw(name, shape, 0.5, -1.0)
    if name.endswith(".D"):
        return draw(name, shape, 0.5, 1.0)
    if "conv" in name and name.endswith("weight"):
        return draw(name, shape, 0.6)
    if len(shape) <= 1:
        return draw(name, shape, 0.2)
    if "embed_tokens" in name or "word_embeddings" in name or "lm_head" in name:
        value = draw(name, shape, LOGIT_SPREAD / math.sqrt(shape[-1]))
        if len(shape) == 2 and shape[0] > 256:
            value[LEAD_BYTES] = 0  # a greedy choice never begins a character of several bytes
        return value
    columns = shape[-2] if len(shape) == 3 and row.get("mxfp4") is None and "experts" in name and "proj" in name else shape[-1]
    return draw(name, shape, 1.3 / math.sqrt(columns))


def quantised(name, value):
    """Random MXFP4 blocks and scales as files of gpt-oss have them: [experts, rows, groups, 16] and [experts, rows, groups]."""
    experts, columns, rows = value.shape
    rng = np.random.default_rng([2, zlib.crc32(name.encode())])
    blocks = torch.from_numpy(rng.integers(0, 256, (experts, rows, columns // 32, 16), dtype=np.uint8))
    scales = torch.from_numpy(rng.integers(123, 126, (experts, rows, columns // 32), dtype=np.uint8))
    return {f"{name}_blocks": blocks, f"{name}_scales": scales}


def names_of(folder, row):
    """Names and shapes as the class saves them."""
    config = transformers.AutoConfig.from_pretrained(folder)
    config._attn_implementation = "eager"
    if row.get("mxfp4"):
        del config.quantization_config
    model = getattr(transformers, row["class"]).from_config(config)
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        from safetensors import safe_open
        with safe_open(pathlib.Path(saved) / "model.safetensors", "pt") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    return shapes


def is_tower(name):
    return re.search(r"visual|vision|projector", name)


def rename(name, row):
    old, new = row.get("prefix", ("", ""))
    if name == "lm_head.weight" and old:
        return "language_model.lm_head.weight"
    return new + name[len(old):] if old and name.startswith(old) else name


def mtp_shapes(shapes, row):
    """The layer that predicts a further token, which the classes of transformers leave out."""
    text = row["config"].get("text_config", row["config"])
    last = f"layers.{text['num_hidden_layers'] - 1}."
    copies = {f"mtp.layers.0.{name.partition(last)[2]}": shape for name, shape in shapes.items() if last in name}
    width = text["hidden_size"]
    return {**copies, "mtp.fc.weight": (width, 2 * width), "mtp.norm.weight": (width,),
            "mtp.pre_fc_norm_embedding.weight": (width,), "mtp.pre_fc_norm_hidden.weight": (width,)}


def write_json(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def write_sentence_files(folder, row, kind):
    width = row["config"]["hidden_size"]
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
               {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": width, **row["pooling"]})
    for i, (path, n_in, n_out) in enumerate(row.get("dense", [])):
        modules.append({"idx": i + 2, "name": str(i + 2), "path": path, "type": "sentence_transformers.models.Dense"})
        write_json(folder / path / "config.json", {"in_features": n_in, "out_features": n_out, "bias": False,
                                                   "activation_function": "torch.nn.modules.linear.Identity"})
        weight = draw(path, (n_out, n_in), 1 / math.sqrt(n_in)).to(kind)
        save_file({"linear.weight": weight}, folder / path / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "modules.json", modules)


def make(out, name):
    row, folder = FAMILIES[name], out / name
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", row["config"])
    tokenizer, tokenizer_config = TOKENIZERS[row.get("tokenizer", "bpe")]()
    write_json(folder / "tokenizer.json", tokenizer)
    write_json(folder / "tokenizer_config.json", tokenizer_config)
    if "generation" in row:
        write_json(folder / "generation_config.json", row["generation"])
    kind = TYPES[row.get("dtype", "bf16")]
    shapes = names_of(folder, row)
    if row.get("mtp"):
        shapes |= mtp_shapes(shapes, row)
    tensors = {}
    for tensor, shape in shapes.items():
        if is_tower(tensor) and math.prod(shape) > MAX_TOWER:
            continue
        value = value_of(tensor, shape, row)
        tensor = rename(tensor, row)
        if row.get("mxfp4") and len(shape) == 3:
            tensors |= quantised(tensor, value)
        else:
            tensors[tensor] = value.to(kind).contiguous()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    if "pooling" in row:
        write_sentence_files(folder, row, kind)
    print(f"{name}: {(folder / 'model.safetensors').stat().st_size} bytes", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("family", nargs="*", help="by default all: " + ", ".join(FAMILIES))
    args = parser.parse_args()
    for name in args.family or FAMILIES:
        make(args.out, name)


if __name__ == "__main__":
    main()
