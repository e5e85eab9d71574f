#!/usr/bin/env python3
"""Writes src/tokenizer/vocab/unicode_fold.h: what characters become in a WordPiece vocabulary.

usage: unicode_fold.py > src/tokenizer/vocab/unicode_fold.h

A character becomes the lower case of the first of its canonical decomposition; Hangul syllables are left out, since a
formula gives theirs. Classes of characters are PCRE2's.
"""
import sys
import unicodedata


def fold(code):
    base = unicodedata.normalize("NFD", chr(code))[0]
    lower = base.lower()
    return ord(lower[0]) if len(lower) == 1 else ord(base) if base != "\u0130" else 0x69


def runs(pairs):
    """Cuts pairs into the longest runs from the front: (first, to, count, step, to_step)."""
    while pairs:
        best = (0, 0, 0)
        for step, to_step in ((1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)):
            count = 1
            while count < len(pairs) and (pairs[count][0] - pairs[count - 1][0], pairs[count][1] - pairs[count - 1][1]) == (step, to_step):
                count += 1
            best = max(best, (count, -step, -to_step))
        count, step, to_step = best
        yield (*pairs[0], count, -step, -to_step)
        pairs = pairs[count:]


def write(items):
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            print(line)
            line = "   "
        line += f" {item},"
    print(f"{line}\n}};")


COMPATIBLE = [(0xF900, 0xFADA), (0x2F800, 0x2FA1E)]
HEAD = """// Lists what characters become in a WordPiece vocabulary; written by
// tools/golden/tokenizer/unicode_fold.py.
// Included by wordpiece.c alone.
#ifndef GI_TOKENIZER_UNICODE_FOLD_H
#define GI_TOKENIZER_UNICODE_FOLD_H

#include <stdint.h>

// clang-format off
// count characters, step apart, become others, to_step apart; sorted.
static const struct fold_run {
    uint32_t first, to;
    uint8_t count, step, to_step;
} fold_runs[] = {"""


def main():
    print(HEAD)
    folded = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and not 0xAC00 <= c < 0xD7A4 and fold(c) != c
              and not any(first <= c < end for first, end in COMPATIBLE)]
    write("{{{:#x}, {:#x}, {}, {}, {}}}".format(*run) for run in runs([(c, fold(c)) for c in folded]))
    for first, end in COMPATIBLE:
        print(f"// The ideographs that the compatible ones from U+{first:X} on stand for.\nstatic const uint32_t ideographs_{first:x}[] = {{")
        write(f"{fold(c):#x}" for c in range(first, end))
    print("// clang-format on\n\n#endif")


if __name__ == "__main__":
    sys.exit(main())
