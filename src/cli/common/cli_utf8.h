// UTF-8 for the commands, which see no header of the library but glinfer.h.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// True for the second to fourth byte of a character.
static inline bool cli_utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

// Returns the size of a character by its first byte; 0 for a byte that begins none.
size_t cli_utf8_expected_size(char first);
// Returns the size of the well-formed character at the beginning of text; 0 without one.
size_t cli_utf8_size(const char *text, size_t size);
// Returns the code point of a character by its bytes.
uint32_t cli_utf8_decode(const char *text, size_t size);
// Writes the 1 to 4 bytes of a code point; returns their number.
size_t cli_utf8_encode(uint32_t code, char out[4]);

// Returns true if a text is UTF-8 from end to end.
bool cli_utf8_is_valid(const char *text, size_t size);

// Returns the end of a text that has at most width bytes, from the beginning of a word.
const char *cli_utf8_tail(const char *text, size_t size, size_t width);
