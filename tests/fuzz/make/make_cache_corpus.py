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


STATE_ROW_SIZE, STATES_SIZE = 24, 8


def state(tokens, origins, pending=-1, n_rows=None, types=(3, 2), version=3, cut=0, n_shifted=0, checkpoints=None):
    """Version 2 has a flag in place of n_rows; with checkpoints, if only [], layers keep states."""
    n_rows = len(tokens) if n_rows is None else n_rows
    flags = n_rows > 0 if version == 2 else checkpoints is not None
    places = checkpoints or []
    head = b"glistate" + struct.pack("<II", version, flags) + bytes(range(16))
    head += struct.pack("<IIIi", *types, len(tokens), pending) + struct.pack("<I", n_shifted)
    head += (bytes(8) if version == 2 else struct.pack("<II", n_rows, len(places))) + bytes(4 + 16)
    body = struct.pack(f"<{len(tokens)}I", *tokens) + bytes(origins) + bytes(-len(origins) % 4)
    body += struct.pack(f"<{len(places)}I", *places)
    n_states = len(places) + 1 if n_rows and checkpoints is not None else 0
    body += bytes(i * 7 % 256 for i in range(STATE_ROW_SIZE * n_rows + STATES_SIZE * n_states))
    whole = head + body + bytes(16)
    return whole[:len(whole) - cut]


STATES = {
    "empty": state([], []),
    "steps": state([1, 2, 3], [1, 2, 2], pending=299),
    "batches": state(list(range(30)), [1] + [0] * 20 + [1] + [0] * 8),
    "full": state([7] * 40, [0] * 40, pending=0),
    "no_rows": state([5, 299], [1, 0], n_rows=0),
    "too_many": state([1] * 41, [1] * 41),
    "wrong_token": state([1, 300], [1, 0]),
    "wrong_origin": state([1, 2], [1, 3]),
    "wrong_type": state([1], [1], types=(9, 2)),
    "wrong_zeros": state([1], [1])[:60] + b"~" + state([1], [1])[61:],
    "old": state([1, 2, 3], [1, 2, 2], pending=299, version=2),
    "old_no_rows": state([1, 2], [1, 2], n_rows=0, version=2),
    "some_rows": state([1, 2, 3], [1, 0, 0], n_rows=2),
    "too_many_rows": state([1, 2], [1, 0], n_rows=3),
    "states": state([1, 2, 3], [1, 0, 0], pending=7, checkpoints=[]),
    "checkpoints": state([1, 2, 3, 4], [1, 0, 1, 0], n_rows=3, checkpoints=[1, 3]),
    "many_checkpoints": state([5] * 40, [0] * 40, checkpoints=list(range(1, 34))),
    "too_many_checkpoints": state([5] * 40, [0] * 40, checkpoints=list(range(1, 35))),
    "late_checkpoint": state([1, 2, 3], [1, 0, 0], n_rows=2, checkpoints=[1, 3]),
    "checkpoints_in_disorder": state([1, 2, 3], [1, 0, 0], checkpoints=[2, 2]),
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
