#!/usr/bin/env python3
"""Writes src/tokenizer/vocab/unicode_fold.h: what characters become in a WordPiece vocabulary.

usage: unicode_fold.py > src/tokenizer/vocab/unicode_fold.h

A character becomes the lower case of the first of its canonical decomposition; Hangul syllables are left out, since a
formula gives theirs. Classes are those of punctuation and of what is passed over: controls, formats, private use, marks.
"""
import sys
import unicodedata


def fold(code):
    base = unicodedata.normalize("NFD", chr(code))[0]
    lower = base.lower()
    return ord(lower[0]) if len(lower) == 1 else ord(base) if base != "\u0130" else 0x69


SKIPPED = ("Cc", "Cf", "Co", "Cs", "Mn", "Mc", "Me")


def ranges(codes):
    first = last = None
    for code in codes:
        if last is not None and code == last + 1:
            last = code
            continue
        if first is not None:
            yield first, last
        first = last = code
    yield first, last


def write(name, comment, pairs):
    print(f"// {comment}\nstatic const uint32_t {name}[][2] = {{")
    line = "   "
    for a, b in pairs:
        item = f" {{{a:#x}, {b:#x}}},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    print(f"{line}\n}};")


HEAD = """// Lists what characters become in a WordPiece vocabulary, and ranges of characters; written by
// tools/golden/unicode_fold.py. Included by wordpiece.c alone.
#ifndef GI_TOKENIZER_UNICODE_FOLD_H
#define GI_TOKENIZER_UNICODE_FOLD_H

#include <stdint.h>

// clang-format off"""


def main():
    print(HEAD)
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    write("folds", "A character, and what it becomes.",
          [(c, fold(c)) for c in codes if not 0xAC00 <= c < 0xD7A4 and fold(c) != c])
    write("punctuation", "First and last of ranges.",
          ranges([c for c in codes if unicodedata.category(chr(c))[0] == "P"]))
    write("skipped", "First and last of ranges.",
          ranges([c for c in range(0x110000) if unicodedata.category(chr(c)) in SKIPPED]))
    print("// clang-format on\n\n#endif")


if __name__ == "__main__":
    sys.exit(main())
