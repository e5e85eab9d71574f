// Numbers of JSON text as they are written: parsers that keep a double lose digits.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Returns the next number outside strings of JSON text and sets *size to its bytes; NULL at the
// end. Every run of characters of numbers counts: gi_json_is_number tells if it is one.
const char *gi_json_find_number(const char *at, const char *end, size_t *size);
// Returns true if text[0..size) has JSON's syntax of a number (RFC 8259, section 6), of any length.
bool gi_json_is_number(const char *text, size_t size);
