#!/usr/bin/env python3
"""Writes corpus/verdict, corpus/settings, corpus/program_cache and corpus/state: lines of verdicts,
settings, files of the program cache in this machine's byte order, and saved sequences, whose hashes the
target makes, for the targets of these names."""
import struct
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


STATE_ROW_SIZE = 24


def state(tokens, origins, pending=-1, has_rows=True, types=(3, 2), version=2, cut=0, n_shifted=0):
    head = b"glistate" + struct.pack("<II", version, has_rows) + bytes(range(16))
    head += struct.pack("<IIIi", *types, len(tokens), pending) + struct.pack("<I", n_shifted) + bytes(12 + 16)
    body = struct.pack(f"<{len(tokens)}I", *tokens) + bytes(origins) + bytes(-len(origins) % 4)
    if has_rows:
        body += bytes(i * 7 % 256 for i in range(STATE_ROW_SIZE * len(tokens)))
    whole = head + body + bytes(16)
    return whole[:len(whole) - cut]


STATES = {
    "empty": state([], []),
    "steps": state([1, 2, 3], [1, 2, 2], pending=299),
    "batches": state(list(range(30)), [1] + [0] * 20 + [1] + [0] * 8),
    "full": state([7] * 40, [0] * 40, pending=0),
    "no_rows": state([5, 299], [1, 0], has_rows=False),
    "too_many": state([1] * 41, [1] * 41),
    "wrong_token": state([1, 300], [1, 0]),
    "wrong_origin": state([1, 2], [1, 3]),
    "wrong_type": state([1], [1], types=(9, 2)),
    "wrong_zeros": state([1], [1])[:52] + b"~" + state([1], [1])[53:],
    "shifted": state([1, 2], [1, 2], n_shifted=2**32 - 1),
    "wrong_version": state([1], [1], version=1),
    "cut": state([1, 2, 3], [1, 0, 0], cut=5),
}


def main():
    corpus = Path(__file__).parent.parent / "corpus"
    for folder in ("verdict", "settings", "program_cache", "state"):
        (corpus / folder).mkdir(parents=True, exist_ok=True)
    for name, text in VERDICTS.items():
        (corpus / "verdict" / f"{name}.txt").write_text(text)
    for name, texts in SETTINGS.items():
        lines = [f"GLINFER_{variable}={text}\n" for variable in VARIABLES.get(name, [name.upper()])
                 for text in texts]
        (corpus / "settings" / f"{name}.txt").write_text("".join(lines))
    for name, data in PROGRAMS.items():
        (corpus / "program_cache" / f"{name}.bin").write_bytes(data)
    for name, data in STATES.items():
        (corpus / "state" / f"{name}.bin").write_bytes(data)


if __name__ == "__main__":
    main()
