#!/usr/bin/env python3
"""Writes corpus/verdict, corpus/settings and corpus/program_cache: lines of verdicts, settings, and
files of the program cache in this machine's byte order, for the targets of these names."""
from pathlib import Path

KEY = "00000000000000010000000000000002"  # of verdict_fuzz.c
VERDICTS = {
    "faster": f"persistent {KEY}: faster, 1200 ns, multi-dispatch 3400 ns\n",
    "slower": f"persistent {KEY}: slower, 3400 ns, multi-dispatch 1200 ns\n",
    "refused": f"persistent {KEY}: refused, 0 ns, multi-dispatch 0 ns\n",
    "huge": f"persistent {KEY}: wrong, 18446744073709551615 ns, multi-dispatch 18446744073709551616 ns\n",
}
SETTINGS = {
    "dispatch": ["multi", "direct", "indirect", "persistent", "background:65535:1024:4294967295",
                 "persistent:0", "persistent:1:96", "persistent:1:64:"],
    "limits": ["es31", "es31,blocks=4", "invocations=128,shared=16384", "alignment=64",
               "alignment=3", "uniform=4294967296", "blocks=", "es31,"],
    "quirks": ["V3D=no-half", "=no-timer,no-threads", "Mali@22.3-24=direct;llvmpipe@-25=indirect",
               "v3d@4-=no-binaries;", "a@", "a@1", "a=b", "@99999999999999999999.9-=loop-limit"],
    "gemv": ["split", "f16:256:4:528", "row:64", "texbits:128:2", "split:4294967296:1"],
    "gemm": ["64x64:3", "narrow", "few", "few:128:2:4:8", "few:128:2:4:8:1"],
    "fault": ["wrong:gemv*", "skip:argmax:3", "lost:*:4294967295", "compile:", "slow:a:0"],
    "choices": ["yes", "no", "on", "off", "large", "small", "lane", "es31"],
    "paths": ["/", "/nowhere", "off", "a" * 600],
}
VARIABLES = {
    "choices": ["HALF", "SELFTEST", "PAGES", "BATCH", "LIMITS"],
    "paths": ["GLSL_DIR", "TUNING"],
}
MENDED, KEPT = b"\1", b"\0"  # first byte of an input of program_cache_fuzz.c
PROGRAM_HEAD = b"giprog01" + bytes(32)


def program(binary, size=None):
    numbers = (0x8741).to_bytes(4, "little") + (size or len(binary)).to_bytes(4, "little")
    return PROGRAM_HEAD + numbers + binary


PROGRAMS = {
    "sound": MENDED + program(bytes(range(100))),
    "short": MENDED + program(b"x"),
    "wrong-hash": KEPT + program(bytes(range(100))),
    "wrong-size": MENDED + program(bytes(9), 2**32 - 1),
    "head-alone": MENDED + program(b""),
    "finding-right": KEPT + b"selftest 1 right \n",
    "finding-wrong": KEPT + b"selftest 1 wrong gemv_qkv: 3 of 64 values differ\n" + 390 * b"x",
}


def main():
    corpus = Path(__file__).parent / "corpus"
    for folder in ("verdict", "settings", "program_cache"):
        (corpus / folder).mkdir(parents=True, exist_ok=True)
    for name, text in VERDICTS.items():
        (corpus / "verdict" / f"{name}.txt").write_text(text)
    for name, texts in SETTINGS.items():
        lines = [f"GLINFER_{variable}={text}\n" for variable in VARIABLES.get(name, [name.upper()])
                 for text in texts]
        (corpus / "settings" / f"{name}.txt").write_text("".join(lines))
    for name, data in PROGRAMS.items():
        (corpus / "program_cache" / f"{name}.bin").write_bytes(data)


if __name__ == "__main__":
    main()
