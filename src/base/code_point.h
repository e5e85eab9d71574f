// UTF-8 of one character.
#ifndef GI_BASE_CODE_POINT_H
#define GI_BASE_CODE_POINT_H

#include <stddef.h>
#include <stdint.h>

// Writes the 1 to 4 bytes of a code point; returns how many.
static inline size_t gi_utf8_encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    static const uint8_t leads[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(leads[size] | code);
    return size;
}

#endif
