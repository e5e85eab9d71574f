#!/usr/bin/env python3
"""Writes which tokens llama.cpp's samplers leave of made-up logits, and with what probabilities.

usage: sampler_reference.py OUT.golden

The samplers are those of the llama.cpp in PyPI's xllamacpp 2026.10.11549, called one by one in the order
of each case, without a model. unit.sampler_golden holds src/sampler to the file.

A line "logits NAME v..." is a vocabulary. A line "case NAME key=value..." is a chain, in the words of the
test: history and breakers are token ids. The line "kept" after it has id:probability of every token that
has one, by id; with mirostat and adaptive-p, what they chose from.
"""

import ctypes
import math
import random
import sys

import xllamacpp

VERSION = "2026.10.11549"
DEFAULTS = {
    "order": "edskypmxt", "min_keep": 0, "last_n": 0, "repeat": 1.0, "frequency": 0.0, "presence": 0.0,
    "dry": 0.0, "dry_base": 1.75, "dry_allowed": 2, "dry_last_n": 64, "breakers": "", "sigma": -1.0, "top_k": 0,
    "typical": 1.0, "top_p": 1.0, "min_p": 0.0, "xtc": 0.0, "xtc_threshold": 0.1, "temp": 1.0, "range": 0.0,
    "exponent": 1.0, "mirostat": 0, "tau": 5.0, "eta": 0.1, "target": -1.0, "decay": 0.9, "bias": "", "history": "",
}


class Data(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float)]


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(Data)), ("size", ctypes.c_size_t), ("selected", ctypes.c_int64),
                ("sorted", ctypes.c_bool)]


class Bias(ctypes.Structure):
    _fields_ = [("token", ctypes.c_int32), ("bias", ctypes.c_float)]


class Vector(ctypes.Structure):
    """A std::vector: begin, end, end of its memory."""
    _fields_ = [("begin", ctypes.c_void_p), ("end", ctypes.c_void_p), ("room", ctypes.c_void_p)]

    @staticmethod
    def of(array):
        begin = ctypes.addressof(array)
        return Vector(begin, begin + ctypes.sizeof(array), begin + ctypes.sizeof(array))


INT, UINT, SIZE, FLOAT = ctypes.c_int32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_float
SIGNATURES = {
    "top_k": [INT], "top_p": [FLOAT, SIZE], "min_p": [FLOAT, SIZE], "typical": [FLOAT, SIZE],
    "temp": [FLOAT], "temp_ext": [FLOAT] * 3, "xtc": [FLOAT, FLOAT, SIZE, UINT], "top_n_sigma": [FLOAT],
    "mirostat": [INT, UINT, FLOAT, FLOAT, INT], "mirostat_v2": [UINT, FLOAT, FLOAT],
    "penalties": [INT, INT, FLOAT, FLOAT, FLOAT], "adaptive_p": [FLOAT, FLOAT, UINT],
    "logit_bias": [INT, INT, ctypes.c_void_p],
}


def load():
    if xllamacpp.__version__ != VERSION:
        sys.exit(f"xllamacpp is {xllamacpp.__version__}, expected {VERSION}")
    lib = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
    for name, types in SIGNATURES.items():
        function = getattr(lib, "llama_sampler_init_" + name)
        function.restype, function.argtypes = ctypes.c_void_p, types
    dry = lib._Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE
    dry.restype, dry.argtypes = ctypes.c_void_p, [FLOAT, FLOAT, INT, INT, ctypes.c_void_p]
    lib.init_dry = dry
    lib.llama_sampler_apply.argtypes = [ctypes.c_void_p, ctypes.POINTER(Array)]
    lib.llama_sampler_accept.argtypes = [ctypes.c_void_p, INT]
    return lib


def numbers(text):
    return [int(x) for x in text.split(",")] if text else []


def create_dry(lib, case):
    lists = [(INT * len(ids))(*ids) for ids in map(numbers, case["breakers"].split("/")) if ids]
    vectors = (Vector * max(len(lists), 1))(*map(Vector.of, lists))
    outer = Vector.of(vectors) if lists else Vector(None, None, None)
    return lib.init_dry(case["dry"], case["dry_base"], case["dry_allowed"], case["dry_last_n"], ctypes.byref(outer))


def create(lib, case, letter, n_vocab):
    keep = case["min_keep"]
    if letter == "e":
        return lib.llama_sampler_init_penalties(n_vocab, case["last_n"], case["repeat"], case["frequency"],
                                                case["presence"])
    if letter == "d":
        return create_dry(lib, case) if case["dry"] != 0 else None
    if letter == "s":
        return lib.llama_sampler_init_top_n_sigma(case["sigma"])
    if letter == "k":
        return lib.llama_sampler_init_top_k(case["top_k"])
    if letter == "y":
        return lib.llama_sampler_init_typical(case["typical"], keep)
    if letter == "p":
        return lib.llama_sampler_init_top_p(case["top_p"], keep)
    if letter == "m":
        return lib.llama_sampler_init_min_p(case["min_p"], keep)
    if letter == "x":
        return lib.llama_sampler_init_xtc(case["xtc"], case["xtc_threshold"], keep, 1)
    if letter == "t":
        return lib.llama_sampler_init_temp_ext(case["temp"], case["range"], case["exponent"])
    if letter == "a":
        return lib.llama_sampler_init_adaptive_p(case["target"], case["decay"], 1)
    sys.exit(f"no sampler {letter}")


def create_chain(lib, case, n_vocab):
    pairs = [pair.split(":") for pair in case["bias"].split(",") if pair]
    biases = (Bias * max(len(pairs), 1))(*[Bias(int(t), float(b)) for t, b in pairs])
    chain = [lib.llama_sampler_init_logit_bias(n_vocab, len(pairs), biases)]
    if case["mirostat"] == 1:
        return chain + [lib.llama_sampler_init_temp(case["temp"]),
                        lib.llama_sampler_init_mirostat(n_vocab, 1, case["tau"], case["eta"], 100)]
    if case["mirostat"] == 2:
        return chain + [lib.llama_sampler_init_temp(case["temp"]),
                        lib.llama_sampler_init_mirostat_v2(1, case["tau"], case["eta"])]
    letters = case["order"].replace("a", "") + ("a" if case["target"] >= 0 else "")
    return chain + [create(lib, case, letter, n_vocab) for letter in letters]


def run(lib, case, logits):
    data = (Data * len(logits))(*[Data(i, x, 0) for i, x in enumerate(logits)])
    array = Array(data, len(logits), -1, False)
    for sampler in filter(None, create_chain(lib, case, len(logits))):
        for token in numbers(case["history"]):
            lib.llama_sampler_accept(sampler, token)
        lib.llama_sampler_apply(sampler, ctypes.byref(array))
    left = [(array.data[i].id, array.data[i].logit) for i in range(array.size)]
    largest = max(logit for _, logit in left)
    weights = [(i, math.exp(logit - largest)) for i, logit in left]
    total = sum(weight for _, weight in weights)
    return sorted((i, weight / total) for i, weight in weights if weight > 0)


def vocabularies():
    """Logits that float holds exactly and that are all different."""
    rng = random.Random(17)
    for name, n, sigma in (("sharp", 120, 5.0), ("flat", 120, 0.5), ("wide", 300, 2.5)):
        found = set()
        while len(found) < n:
            found.add(round(rng.gauss(0, sigma) * 1024) / 1024)
        logits = list(found)
        rng.shuffle(logits)
        yield name, logits


TEXT = "5,6,7,8,9,1,5,6,7,2,3,5,6,7,8,4,4,4,9,5,6,7"
CASES = {
    "plain": {}, "temperature": {"temp": 0.8}, "hot": {"temp": 1.7}, "greedy": {"temp": 0.0},
    "top_k": {"top_k": 40}, "top_p": {"top_p": 0.9}, "top_p_min_keep": {"top_p": 0.1, "min_keep": 7},
    "min_p": {"min_p": 0.05}, "min_p_min_keep": {"min_p": 0.9, "min_keep": 12},
    "typical": {"typical": 0.7}, "typical_min_keep": {"typical": 0.01, "min_keep": 5},
    "sigma": {"sigma": 1.5}, "sigma_top_k": {"sigma": 2.0, "top_k": 30},
    "xtc": {"xtc": 1.0, "xtc_threshold": 0.02}, "xtc_min_keep": {"xtc": 1.0, "xtc_threshold": 0.001, "min_keep": 115},
    "range": {"temp": 1.0, "range": 0.5}, "range_exponent": {"temp": 0.7, "range": 0.9, "exponent": 1.6, "top_k": 50},
    "repeat": {"last_n": 64, "repeat": 1.3, "history": TEXT},
    "repeat_window": {"last_n": 5, "repeat": 1.3, "frequency": 0.2, "presence": 0.4, "history": TEXT},
    "presence": {"last_n": 64, "presence": 0.7, "history": TEXT},
    "frequency": {"last_n": 64, "frequency": -0.3, "history": TEXT},
    "dry": {"dry": 0.8, "history": TEXT}, "dry_long": {"dry": 0.8, "dry_allowed": 4, "history": TEXT},
    "dry_window": {"dry": 1.1, "dry_base": 2.0, "dry_last_n": 12, "history": TEXT},
    "dry_breakers": {"dry": 0.8, "dry_allowed": 1, "breakers": "9/4,4,9/2", "history": TEXT},
    "dry_breaker_in_front": {"dry": 0.8, "dry_allowed": 1, "breakers": "8/3,5", "history": TEXT + ",3,5,6,7"},
    "bias": {"bias": "3:2.5,7:-inf,11:-1.25"},
    "mirostat": {"mirostat": 1, "tau": 3.0}, "mirostat_hot": {"mirostat": 1, "tau": 1.0, "temp": 1.4},
    "mirostat_2": {"mirostat": 2, "tau": 3.0}, "mirostat_2_cold": {"mirostat": 2, "tau": 0.7, "temp": 0.8},
    "adaptive": {"target": 0.3}, "adaptive_min_p": {"target": 0.6, "min_p": 0.05, "temp": 0.9},
    "all": {"last_n": 64, "repeat": 1.1, "presence": 0.1, "frequency": 0.1, "dry": 0.8, "history": TEXT, "top_k": 60,
            "typical": 0.95, "top_p": 0.93, "min_p": 0.02, "temp": 0.8, "bias": "9:1.5"},
    "another_order": {"order": "tmpke", "last_n": 64, "repeat": 1.2, "history": TEXT, "top_k": 20, "top_p": 0.9,
                      "min_p": 0.03, "temp": 1.3},
    "defaults": {"top_k": 40, "top_p": 0.95, "min_p": 0.05, "temp": 0.8},
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lib = load()
    with open(sys.argv[1], "w") as out:
        out.write(f"# tools/golden/sampler_reference.py: the samplers of xllamacpp {VERSION}\n")
        for name, logits in vocabularies():
            out.write(f"logits {name} {' '.join(map(repr, logits))}\n")
            for title, settings in CASES.items():
                kept = run(lib, DEFAULTS | settings, logits)
                words = [f"{key}={value}" for key, value in settings.items()]
                out.write(" ".join([f"case {title}", *words]) + "\n")
                out.write(" ".join(["kept", *[f"{i}:{p:.6g}" for i, p in kept]]) + "\n")


main()
