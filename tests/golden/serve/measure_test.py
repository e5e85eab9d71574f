"""Commands that measure, with a Whisper model of random weights.

    measure_test.py GLINFER MODEL

MODEL is one of text. Status 77: no device.
"""
import json
import os
import subprocess
import tempfile

from serving import same, true
from speech_test import GLINFER, MODEL, write_whisper


def run(*words):
    """Returns status, standard output and standard error of a command."""
    done = subprocess.run([GLINFER, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def run_well(*words):
    status, text, errors = run(*words)
    true(status == 0, f"{words}: status {status}, {errors}")
    return text


def it_benches(path):
    lines = run_well("bench", "-m", path, "-m", MODEL, "-r", "1", "--no-warmup").splitlines()
    same([line.split("|")[3].strip() for line in lines[2:7]], ["enc30s", "enc7.68s+tg16", "tg128", "pp512", "tg128"],
         "tests by default")
    same(lines[0].split("|")[5].strip(), "ms", "milliseconds")
    for flags in ("-d", "4"), ("-np", "2"):
        same(run("bench", "-m", path, *flags)[0], 2, "a test of text alone")


def it_profiles(path):
    stages = json.loads(run_well("profile", "-m", path, "-n", "1", "--plan", "--json"))["stages"]
    same([(stage["stage"], stage["n_prompt"]) for stage in stages], [("sound", 1500), ("decode", 0)], "a plan")
    text = run_well("profile", "-m", path, "-n", "1", "--plan")
    true("encoder of 30.0 s of sound, planned" in text and "1500 tokens at" not in text, text)
    kernels = [{dispatch["kernel"] for dispatch in stage["dispatches"]} for stage in stages]
    true("conv2" in kernels[0] and "output" in kernels[1], "kernels")


def it_tunes(path):
    tuned = json.loads(run_well("tune", "-m", path, "--max-seconds", "0.1", "--json"))
    true(tuned["n_measured"] > 0 and "greedy" not in tuned, "shapes")
    info = json.loads(run_well("info", "-m", path, "--json"))
    same([info[name] for name in ("n_layer", "n_encoder_layer", "n_encoder_ctx", "n_mel")], [1, 1, 1500, 80], "sizes")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # that tuned shapes go to
        os.environ.setdefault("MESA_SHADER_CACHE_DIR", os.path.expanduser("~/.cache/glinfer/kernels"))
        if run("bench", "-m", MODEL, "-p", "1", "-n", "0", "-r", "1")[0] != 0:
            raise SystemExit(77)
        path = os.path.join(folder, "tiny-whisper.bin")
        write_whisper(path)
        it_benches(path)
        it_profiles(path)
        it_tunes(path)


if __name__ == "__main__":
    main()
