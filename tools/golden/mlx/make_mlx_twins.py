#!/usr/bin/env python3
"""Writes tiny Hugging Face folders as mlx-lm converts them, without quantising more, for tests.

    make_mlx_twins.py FOLDERS OUT FAMILY...

OUT/FAMILY has config.json and model.safetensors of FOLDERS/FAMILY with mlx-lm's names and shapes: experts are stacked,
convolutions and some norms are stored in other ways. Needs PyPI mlx[cpu] and mlx-lm.
"""
import argparse
import json
import pathlib

from mlx_lm.utils import load_model, save_config, save_model


def make(folder, out):
    config = json.loads((folder / "config.json").read_text())
    more = {"attention_bias": False, "mlp_bias": False}
    if config["model_type"].endswith("_text"):  # the class has the model within one of text and pictures
        more |= {"model_type": config["model_type"].removesuffix("_text"), "text_config": config}
    model, loaded = load_model(folder, model_config=more)
    save_model(out, model)
    (out / "model.safetensors.index.json").unlink()
    if "quantization" in loaded:
        config["quantization"] = config["quantization_config"] = loaded["quantization"]
    save_config(config, out / "config.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folders", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("family", nargs="+")
    args = parser.parse_args()
    for name in args.family:
        make(args.folders / name, args.out / name)


if __name__ == "__main__":
    main()
