"""llama_flags.py GLINFER TABLE [--write]: goes through the flags of llama.cpp's programs with the command that does
their work, and compares what becomes of each with the table: it works, it is noted to have no effect, or it is not there
and a sentence says what to use. --write writes what is found into the table."""
import os
import subprocess
import sys

COMMANDS = {"llama-cli": "run", "llama-server": "serve", "llama-bench": "bench"}
# Values that a command reads as files are beside the table.
glinfer, table = map(os.path.abspath, sys.argv[1:3])
os.environ["__EGL_VENDOR_LIBRARY_FILENAMES"] = "/dev/null"  # no device: nothing runs
os.chdir(os.path.dirname(table))


def outcome(command, flag, value):
    words = [glinfer, command, "-m", "missing.gguf", flag] + ([value] if value else [])
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    errors = done.stderr
    if done.returncode == 2 and errors.startswith(f"glinfer: {flag} is not available: "):
        return "not there"
    if errors.startswith(f"glinfer: note: {flag} has no effect: ") and done.returncode == 1:
        return "noted"
    if errors.startswith("glinfer: invalid grammar: "):
        return "works"  # the file beside the table is read, and is not a grammar
    if any(words in errors for words in ("unknown flag", "unexpected argument", "expected", "has no effect", "missing value")):
        return f"refused ({errors.splitlines()[0]})"
    return "works"


def main():
    failures = 0
    lines = []
    with open(table) as file:
        for line in file.read().splitlines():
            if not line or line.startswith("#"):
                lines.append(line)
                continue
            programs, flags, value, wanted = (cell.strip() for cell in line.split("|"))
            found = {outcome(COMMANDS[p], flag, value) for p in programs.split() for flag in flags.split()}
            found = ", ".join(sorted(found))
            if found != wanted:
                failures += 1
                print(f"FAIL {programs} {flags} {value}: {found}, wanted {wanted}")
            lines.append(f"{programs} | {flags} | {value} | {found}")
    if "--write" in sys.argv:
        with open(table, "w") as file:
            file.write("\n".join(lines) + "\n")
    sys.exit(1 if failures else 0)


main()
