"""documents_test.py BUILD SOURCE SCRATCH

Runs the command lines of README.md, of the READMEs of tools/examples, of the man pages and of each `--help` next to a
scratch installation, with tiny models. SUBSTITUTES makes a line cheap and keeps it offline. A line that cannot run here
is in NOT_RUN, an indented block of something else in NOT_COMMANDS; every other indented line is run.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

# Replaced in every line, in this order.
SUBSTITUTES = [
    (r"\s+#.*", ""),
    (r"\bbuild/glinfer\b", "glinfer"),
    (r"\bMODEL(\.gguf)?\b|\bsmollm2-135m\b", "model.gguf"),
    (r"\bqwen3-embedding\.gguf\b", "embedding.gguf"),
    (r"(glinfer embed -m )model.gguf", r"\1embedding.gguf"),
    (r"\bwiki\.test\.raw\b", "text.txt"),
    (r"\bSmolLM2-135M-Instruct ", "folder "),
    (r"\bFOLDER --lora ADAPTER\b", "adapted.gguf --lora adapter"),  # the tiny folders have no adapters
    (r"\bgit diff\b", "cat lines.txt"),
    (r"/etc/", "etc/"),
    (r"\bfind P\b", 'find "$PREFIX"'),
    # Sizes that take seconds with a tiny model.
    (r"-n 128 -p 512,4096 -pg 4096,128 -r 2", "-n 8 -p 16,32 -pg 32,8 -r 1"),
    (r"(glinfer bench -m \S+)$", r"\1 -p 16 -n 8 -r 1"),
    (r"(glinfer tune -m \S+)", r"\1 --max-seconds 0.1"),
    (r"(glinfer selftest)$", r"\1 -m model.gguf"),
    (r"(glinfer report)( -m model.gguf -o report.txt)?$", r"\1 -m model.gguf -p 8 -n 4 -d 16 -r 1"),  # with -o in golden.cli_report
    (r"(glinfer profile -m \S+)( -p 128)?", r"\1 -p 16 -n 2"),
    (r"(glinfer run .*)", r"\1 -n 8"),
    (r"(\./ask .*)", r"\1 8"),
    (r"(\./kiosk/kiosk .*)", r"\1 --seconds 1"),
    (r"/srv/models", "models"),
    (r"(glinfer serve .*)", r"\1 --port 0"),
    (r"--chunks 20", "--chunks 1"),
]

NOT_RUN = {
    r"tools/quickstart|apt install|ctest |tools/test": "takes minutes, or installs packages",
    r"cmake --preset|cmake --install build --prefix /usr/local|\(cd build && cpack": "tests install, install.package",
    r"(build/)?glinfer pull ": "fetches a file",
    r"curl ": "asks a server, as golden.serve does",
    r"(arecord .*)?((build/)?glinfer transcribe |\./transcribe |\./kiosk/voice )|.* --speech-model ": "needs a model of speech and sound",
}
# Blocks of another kind, by the beginning of their first line.
NOT_COMMANDS = {
    "kiosk -m MODEL [": "a synopsis",
    "voice -m MODEL --speech-model WHISPER [": "a synopsis",
    "once, when a model is loaded": "a drawing",
    "struct glinfer_device_params device_params = {": "a program, which this test builds",
    "GLINFER_QUIRKS=": "a setting",
}

MODELS = {"model.gguf": "tiny-chat", "embedding.gguf": "tiny-bert", "reranker.gguf": "tiny-bert_rank",
          "adapted.gguf": "tiny-q4_0"}

PROGRAM = """#include <glinfer.h>
#include <stdio.h>
static bool print_token(void *user, const struct glinfer_token *token)
{
    (void)user;
    return fwrite(token->text, 1, token->text_size, stdout) == token->text_size;
}
int main(void)
{
    struct glinfer_error err;
%s
    return 0;
}
"""


def blocks_of(text):
    """The indented blocks of a text, each a list of lines."""
    found, block = [], []
    for line in text.split("\n") + ["end"]:
        if line.startswith("    "):
            block.append(line[4:])
        elif line.strip() or not block:
            found += [block] if block else []
            block = []
        else:
            block.append("")
    return found


def lines_of(block):
    return [line for line in re.sub(r"\\\n *", "", "\n".join(block)).split("\n") if line.strip()]


def man_blocks(text):
    examples = re.search(r"^\.Sh EXAMPLES\n(.*?)^\.Sh", text, re.MULTILINE | re.DOTALL)
    others = re.findall(r"^(?!\.Dl |\.Pp$).*", examples.group(1), re.MULTILINE) if examples else []
    if any(others):
        raise SystemExit(f"EXAMPLES has a line that is not .Dl: {others}")
    lines = re.findall(r"^\.Dl (.*)", text, re.MULTILINE)
    return [[line.replace(r"\(dq", '"').replace(r"\&", "").replace(r"\e", "\\")] for line in lines]


def help_blocks(glinfer, command):
    text = subprocess.run([glinfer, command, "--help"], capture_output=True, text=True, check=True).stdout
    return [block for block in blocks_of(text) if block[0].startswith("glinfer ")]


class Runner:
    def __init__(self, prefix, folder):
        self.folder, self.seen, self.failed, self.n_skipped = folder, set(), [], 0
        cache = os.path.join(folder, "cache")
        pc = next(os.path.join(path, "pkgconfig") for path, folders, _ in os.walk(prefix) if "pkgconfig" in folders)
        self.env = {**os.environ, "PREFIX": prefix, "PATH": f"{prefix}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": cache,
                    "PKG_CONFIG_PATH": pc, "LD_LIBRARY_PATH": os.path.dirname(pc), "GALLIVM_PERF": "nopt"}

    def run(self, document, line, setup):
        script = f"set -o pipefail\n{setup}{line}"
        for pattern, replacement in SUBSTITUTES:
            script = re.sub(pattern, replacement, script)
        if script in self.seen:
            return
        self.seen.add(script)
        begin = time.monotonic()
        status, output = self.serve(script) if "glinfer serve" in script else self.finish(script)
        print(f"{time.monotonic() - begin:6.1f} s  {document}: {line}", flush=True)
        if "no usable device" in output:
            sys.exit(77)
        if status != 0 or re.search(r"note: \S+ has no effect", output):
            self.failed.append(f"{document}: {line}\n{script}\nends with {status}: {output[-1500:]}")

    def finish(self, script):
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.env, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        return done.returncode, done.stdout

    def serve(self, script):
        """A server is right if it becomes ready and ends by SIGTERM with status 0."""
        process = subprocess.Popen(["bash", "-c", f"exec {script.splitlines()[-1]}"], cwd=self.folder, env=self.env, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        output = ""
        for line in process.stderr:
            output += line
            if "ready: " in line:
                process.send_signal(signal.SIGTERM)
        return process.wait(60), output


def run_blocks(runner, document, blocks):
    setup = ""
    for block in blocks:
        if block[0].startswith(tuple(NOT_COMMANDS)):
            continue
        for line in lines_of(block):
            if any(re.match(pattern, line) for pattern in NOT_RUN):
                runner.n_skipped += 1
                continue
            runner.run(document, line, setup)
            setup += line + "\n" if line.startswith("export ") else ""


def prepare(source, folder):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(f"{source}/tools/examples", folder)
    for name in os.listdir(f"{folder}/serve"):
        shutil.copy(f"{folder}/serve/{name}", folder)
    os.makedirs(f"{folder}/tools")
    os.symlink(f"{source}/tools/examples", f"{folder}/tools/examples")
    os.makedirs(f"{folder}/etc/systemd/system")
    os.makedirs(f"{folder}/etc/default")
    for name, model in MODELS.items():
        os.symlink(f"{source}/tests/data/models/{model}.gguf", f"{folder}/{name}")
    os.makedirs(f"{folder}/models")
    os.symlink(f"{source}/tests/data/models/tiny-chat.gguf", f"{folder}/models/tiny-chat.gguf")
    os.symlink(f"{source}/tests/data/folders/llama", f"{folder}/folder")
    os.symlink(f"{source}/tests/data/peft/tiny-q4_0-16", f"{folder}/adapter")
    files = {"text.txt": "The quick brown fox jumps over the lazy dog. " * 20, "lines.txt": "one\ntwo\n",
             "passages.txt": "a cat\na bridge\n", "etc/glinfer.keys": "secret\n"}
    for name, text in files.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def run_program(runner, blocks):
    """The program of README.md, as it stands there."""
    block = next(block for block in blocks if block[0].startswith("struct glinfer_device_params"))
    with open(f"{runner.folder}/embed.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM % "\n".join(block))
    runner.run("README.md", "cc -Wall -Werror -o embed embed.c $(pkg-config --cflags --libs glinfer) && ./embed | grep -q .", "")


def main():
    build, source, scratch = sys.argv[1:4]
    prefix, folder = f"{scratch}/prefix", f"{scratch}/folder"
    shutil.rmtree(prefix, ignore_errors=True)
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    prepare(source, folder)
    runner = Runner(prefix, folder)

    def read(name):
        with open(f"{source}/{name}", encoding="utf-8") as file:
            return file.read()

    for name in ("README.md", "tools/examples/README.md", "tools/examples/kiosk/README.md"):
        run_blocks(runner, name, blocks_of(read(name)))
    run_program(runner, blocks_of(read("README.md")))
    for name in sorted(os.listdir(f"{source}/src/cli/man")):
        run_blocks(runner, name, man_blocks(read(f"src/cli/man/{name}")))
        command = re.match(r"glinfer-(.*)\.1", name)
        if command:
            run_blocks(runner, f"{command.group(1)} --help", help_blocks(f"{prefix}/bin/glinfer", command.group(1)))
    for failure in runner.failed:
        print(f"FAILED {failure}", file=sys.stderr)
    print(f"{len(runner.seen)} lines run, {runner.n_skipped} have a reason not to")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
