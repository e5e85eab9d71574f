// The escapes of JSON strings (RFC 8259, section 7), the only table of them.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The characters that are written as a letter after a backslash.
#define GI_JSON_ESCAPED "\"\\\b\f\n\r\t"

// Returns the letter that stands after a backslash for a character; 0 if it has no such letter.
static inline char gi_json_escape_letter(uint32_t code)
{
    static const char codes[] = GI_JSON_ESCAPED, letters[] = "\"\\bfnrt";
    const char *found = code > 0 && code < 0x80 ? strchr(codes, (int)code) : NULL;
    return found ? letters[found - codes] : (char)0;
}

// Writes a character as \u and four digits, or as two of these if it is beyond U+FFFF.
static inline void gi_json_escape_digits(uint32_t code, char out[13])
{
    if (code < 0x10000) {
        snprintf(out, 13, "\\u%04x", code & 0xffff);
    } else {
        snprintf(out, 13, "\\u%04x\\u%04x", (0xd7c0 + (code >> 10)) & 0xffff,
                 0xdc00 + (code & 0x3ff));
    }
}
