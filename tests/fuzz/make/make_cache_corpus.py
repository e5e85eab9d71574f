#!/usr/bin/env python3
"""Writes corpus/program_cache and corpus/state: files of the program cache in this machine's byte order, and
saved sequences, whose hashes the target makes, for the targets of these names."""
import struct
from pathlib import Path

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
    for folder in ("program_cache", "state"):
        (corpus / folder).mkdir(parents=True, exist_ok=True)
    for name, data in PROGRAMS.items():
        (corpus / "program_cache" / f"{name}.bin").write_bytes(data)
    for name, data in STATES.items():
        (corpus / "state" / f"{name}.bin").write_bytes(data)


if __name__ == "__main__":
    main()
