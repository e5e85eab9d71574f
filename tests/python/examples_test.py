"""examples_test.py EXAMPLES DATA SERVE_TESTS SCRATCH: the examples of the Python package print what they promise.

Each runs as a process with a tiny model, whose text means nothing. Status 77: no device.
"""
import pathlib
import re
import subprocess
import sys

EXAMPLES, DATA, SERVE_TESTS, SCRATCH = (pathlib.Path(argument) for argument in sys.argv[1:5])
sys.argv[1:] = ["", ""]  # of speech_test
sys.path.insert(0, str(SERVE_TESTS))


def run(name, *arguments, stdin=""):
    process = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", *map(str, arguments)], input=stdin, text=True,
                             capture_output=True, timeout=60, check=False)
    if "NoDeviceError" in process.stderr:
        print(process.stderr)
        sys.exit(77)
    assert process.returncode == 0, f"{name}: {process.stderr}"
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 16, f"{name} is long"
    return process.stdout


def expect(pattern, text):
    assert re.fullmatch(pattern, text, re.S), f"{text!r} is not like {pattern!r}"


def main():
    import speech_test
    chat, models = DATA / "models" / "tiny-chat.gguf", DATA / "models"
    SCRATCH.mkdir(parents=True, exist_ok=True)
    speech_test.write_whisper(SCRATCH / "whisper.bin")
    (SCRATCH / "noise.wav").write_bytes(speech_test.make_sound(2))
    expect(r".+\n\[\d+ tokens\]\n", run("complete", chat, "Once upon a time"))
    expect(r".+\n.+\n", run("chat", chat, stdin="Hello\nAnd now?\n"))
    expect(r".* is (not )?a capital\n", run("schema", chat, "Paris is the capital of France."))
    lines = run("embed", models / "tiny-bert.gguf", "river", "a stream", "river", "a mountain").splitlines()
    assert len(lines) == 3 and lines[0] == "1.000 river", lines
    expect(r"language: [a-z]{2,3}\n( *[\d.]+ to +[\d.]+ s .*\n)+", run("transcribe", SCRATCH / "whisper.bin", SCRATCH / "noise.wav"))
    expect(r".*[^\n].*\n.*\n", run("two", chat, "Once", "Then") + run("two", chat, "A", "B"))
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"complete", "chat", "schema", "embed", "transcribe", "two"}


main()
