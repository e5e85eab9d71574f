"""The files that `glinfer transcribe` writes, by a Whisper model of random weights whose text means nothing.

    transcribe.py GLINFER

Status 77: no device, or a build that cannot read sound.
"""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "serve"))
sys.argv.append("")  # speech_test reads the name of another model
from speech_test import N_HEAD, N_VOCAB, WIDTH, make_sound, write_whisper
from serving import same, true
from whisper_file import N_AUDIO, N_MEL, N_TEXT

TIME = r"(\d\d):(\d\d):(\d\d)[.,](\d{3})"


def transcribe(folder, sound, *flags):
    """Returns what the command prints."""
    done = subprocess.run([sys.argv[1], "transcribe", "-m", folder / "tiny.bin", "-q", "--no-vad", "-nf", "-l", "german", *flags],
                          input=sound, capture_output=True)
    said = done.stderr.decode()
    if "no usable GPU" in said or "unknown flag" in said:  # builds without libsndfile know no flags of sound
        print(said)
        sys.exit(77)
    same(done.returncode, 0, said)
    return done.stdout.decode()


def refuse(status, says, *flags, **settings):
    """Expects the command to fail with a sentence; returns its messages."""
    done = subprocess.run([sys.argv[1], "transcribe", *flags], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          **{"stdout": subprocess.PIPE, **settings})
    said = done.stderr.decode()
    true(done.returncode == status and says in said, (flags, done))
    return said


def check_refusals(folder):
    """Checks the refusals before the model is loaded, which would fail with another sentence since -dev names no device."""
    sound, model = folder / "x.wav", ["-m", folder / "tiny.bin"]
    other = folder / "y.wav"
    other.write_bytes(sound.read_bytes())
    unloaded = [*model, "-dev", "missing"]
    refuse(2, "transcribe needs a model: -m FILE, or a name such as whisper-base", sound)
    refuse(1, "x.wav: it is sound, not a model; give it without -m", "-m", sound, sound)
    refuse(2, "cannot write the texts of 2 files to one -of", *unloaded, sound, other, "-osrt", "-of", folder / "both")
    refuse(2, 'invalid -l "klingon": expected auto, or a code or a name', *unloaded, sound, "-l", "klingon")
    refuse(2, "--suppress-regex: invalid regular expression '('", *unloaded, sound, "--suppress-regex", "(")
    refuse(2, "-dl and -l exclude each other", *unloaded, sound, "-dl", "-l", "de")
    refuse(2, "-dl writes no files: leave out -otxt", *unloaded, sound, "-dl", "-osrt")
    refuse(2, "invalid -wt 0.01: it takes no value", *unloaded, sound, "-wt", "0.01")
    refuse(2, 'device "missing"', *unloaded, *[sound] * 100)
    refuse(2, 'invalid --format "x": expected one of', *unloaded, sound, "--format", "x")
    refuse(1, "cannot write /nonexistent/x.*: No such file", *unloaded, sound, "-osrt", "-of", "/nonexistent/x")
    refuse(1, "missing.wav: No such file or directory", *unloaded, sound, folder / "missing.wav")
    refuse(1, "is not the network of Silero", *unloaded, sound, "-vm", folder / "tiny.bin")
    refuse(2, "-c is not available: it is a flag of `glinfer chat`, not of `glinfer transcribe`", *model, sound, "-c", "100")
    said = refuse(2, 'device "missing"', *unloaded, sound, "-wt", "-of", folder / "z", "--rate", "8000")
    true("note: --rate and --channels have no effect on a sound file" in said, said)
    true("note: -wt has no effect without -ojf" in said and "note: -of has no effect without -otxt" in said, said)


def check_batch(folder, told):
    """Checks that a sound that fails does not stop the others, and that an output that fails does, with a sentence."""
    good, bad = folder / "x.wav", folder / "bad.wav"
    bad.write_bytes(good.read_bytes()[:36] + b"data")
    model = ["-m", folder / "tiny.bin", "--no-vad", "-nf", "-l", "german"]
    done = subprocess.run([sys.argv[1], "transcribe", *model, bad, good, good], capture_output=True, text=True)
    same((done.returncode, done.stdout), (1, 2 * told), done.stderr)
    same(done.stderr.splitlines()[-2:], [str(good), str(good)], "the names of sounds")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            said = refuse(1, "cannot write standard output: No space left on device", *model, "-q", good, good, stdout=full)
            same(said.count("\n"), 1, said)


def check_parts(folder):
    """Checks that a part of a sound keeps the times of the whole, and that a language is found alone."""
    told = transcribe(folder, b"", folder / "x.wav", "-ot", "500", "-d", "1000")
    true(told and all(500 <= ms <= 1500 for ms in find_times(told)), told)
    same(transcribe(folder, b"", folder / "x.wav", "-ot", "2500"), "", "a part after the end")
    done = subprocess.run([sys.argv[1], "transcribe", "-m", folder / "tiny.bin", "-q", "--no-vad", "-nf", "-dl", "-l", "auto", folder / "x.wav"],
                          capture_output=True, text=True)
    true(done.returncode == 0 and re.fullmatch(r"[a-z]{2,3} [01]\.\d{3}\n", done.stdout), done)


def find_times(text):
    """Returns all times of a text in ms."""
    return [((int(h) * 60 + int(m)) * 60 + int(s)) * 1000 + int(ms) for h, m, s, ms in re.findall(TIME, text)]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_whisper(folder / "tiny.bin")
        (folder / "x.wav").write_bytes(make_sound(2))
        told = transcribe(folder, b"", folder / "x.wav", "-otxt", "-osrt", "-ovtt", "-olrc", "-ocsv", "-ojf", "-of", folder / "out")
        files = {path.suffix: path.read_text() for path in folder.glob("out.*")}
        same(sorted(files), [".csv", ".json", ".lrc", ".srt", ".txt", ".vtt"], "files")
        whole = json.loads(files[".json"])
        parts = whole["transcription"]
        texts = [part["text"] for part in parts]
        times = [part["offsets"][side] for part in parts for side in ("from", "to")]
        true(parts and all(part["tokens"] for part in parts), whole)
        same(files[".txt"], "".join(text + "\n" for text in texts), "the text")
        same(re.findall(r"\]  (.*)", told), texts, "what is printed")
        for text in told, files[".srt"], files[".vtt"]:
            same(find_times(text), times, text)
        rows = list(csv.reader(files[".csv"].splitlines()))
        same(rows, [["start", "end", "text"]] + [[*map(str, times[2 * i:2 * i + 2]), text] for i, text in enumerate(texts)], "the table")
        same(re.findall(r"^\[\d\d:\d\d\.\d\d\](.*)", files[".lrc"], re.M), texts, "the lyrics")
        model = whole["model"]
        tower = {"state": WIDTH, "head": N_HEAD, "layer": 1}
        same((model["multilingual"], model["vocab"], model["mels"], model["ftype"]), (True, N_VOCAB, N_MEL, 0), "the model")
        same((model["audio"], model["text"]), ({"ctx": N_AUDIO, **tower}, {"ctx": N_TEXT, **tower}), "its towers")
        same((whole["params"]["language"], whole["result"]["language"]), ("german", "de"), "the language")
        os.environ["GLINFER_FAULT"] = "wrong:SPEECH_SUMS*"  # the CPU chooses the tokens
        same(transcribe(folder, b"", folder / "x.wav"), told, "without the kernels that choose tokens")
        del os.environ["GLINFER_FAULT"]
        raw = (folder / "x.wav").read_bytes()[44:]
        same(transcribe(folder, raw, "-", "-oj", "-of", folder / "raw"), told, "raw samples")
        line = "".join(texts) + "\n"
        same(transcribe(folder, b"", folder / "x.wav", folder / "x.wav", "-nt"), 2 * line, "texts without times")
        plain = json.loads((folder / "raw.json").read_text())
        for part in parts:
            del part["tokens"]
        same(plain["transcription"], parts, "JSON without tokens")
        check_refusals(folder)
        check_batch(folder, told)
        check_parts(folder)
        for command in (["run", "-p", "hello"], ["chat"], ["perplexity", "-f", __file__], ["embed", "-p", "hello"]):
            done = subprocess.run([sys.argv[1], *command, "-m", folder / "tiny.bin"], input="", capture_output=True, text=True)
            true(done.returncode == 1 and "is a speech model" in done.stderr, (command, done))


if __name__ == "__main__":
    main()
