// Makes bytes of unknown origin (names from a file, driver text, paths) fit to be shown: valid
// UTF-8 without control characters, so that a hostile file cannot drive the reader's terminal.
#pragma once

#include <stddef.h>

// Replaces in text[0..size), in place, every byte outside a well-formed UTF-8 character, and every
// control character but newline and tab, by '?'. Returns the length of the longest start of text
// that ends at a whole character: less than size when the last one was cut.
size_t gi_printable(char *text, size_t size);
