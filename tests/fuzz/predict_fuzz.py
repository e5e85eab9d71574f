#!/usr/bin/env python3
"""Feeds tools/predict damaged lists and dumps: it ends with numbers or with a sentence, soon.

  predict_fuzz.py [N]    N damaged copies of each file of corpus/predict (150), the same at every run

The files are what model_lists and the compilers of simulated GPUs wrote of tiny-q4_0: a program of three entries,
without the lines that the parsers pass over.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import random
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "corpus/predict")
SECONDS = 5  # for one input


def load_predict():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("predict", os.path.join(HERE, "../../tools/predict"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("predict", loader))
    loader.exec_module(module)
    return module


def damage(data, chance):
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, other = chance.randrange(len(data)), chance.randrange(len(data))
        n = chance.randint(1, 400)
        kind = chance.randrange(6)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            del data[at:at + n]
        elif kind == 2:
            data[at:at] = data[other:other + n]
        elif kind == 3:
            data[at:at] = str(chance.choice((0, -1, 1 << 31, 1 << 63, 10 ** 400))).encode()
        elif kind == 4:  # the lists stand at the end
            at = data.rfind(b"\t", 0, len(data) - chance.randint(1, 200))
            del data[at:at + chance.randint(1, 12)]
        else:
            del data[at:]
        if not data:
            break
    return bytes(data)


def run(predict, gpu, data):
    predict.subprocess.run = lambda *args, **kwargs: subprocess.CompletedProcess(args, 0, data)
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["predict", gpu, "tiny.gguf"]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = predict.main()
    words = err.getvalue().strip()
    if (status, bool(words)) not in ((0, False), (1, True)) or "\n" in words:
        raise AssertionError("status %s and %r" % (status, words))
    return status


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    predict, chance = load_predict(), random.Random(1)
    os.environ["GLINFER_SHIM_KIT"] = CORPUS
    statuses = [0, 0]
    for name in sorted(os.listdir(CORPUS)):
        gpu = name.partition(".")[0]
        with open(os.path.join(CORPUS, name), "rb") as file:
            whole = file.read()
        if run(predict, gpu, whole) != 0:
            sys.exit("%s: is not predicted" % name)
        for i in range(n):
            data = damage(whole, chance)
            signal.alarm(SECONDS)
            try:
                statuses[run(predict, gpu, data)] += 1
            except BaseException:
                print("%s: damaged copy %d" % (name, i))
                raise
            signal.alarm(0)
    print("%d predicted, %d refused" % tuple(statuses))


if __name__ == "__main__":
    main()
