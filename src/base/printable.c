#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

// Returns the bytes of the character that starts with lead; 0 if none does.
static size_t character_size(uint8_t lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        return 2;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        return 3;
    }
    return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

// Overlong forms, surrogates and numbers past U+10FFFF show in the second byte.
static bool is_second_byte(uint8_t lead, uint8_t byte)
{
    switch (lead) {
    case 0xE0:
        return byte >= 0xA0 && byte <= 0xBF;
    case 0xED:
        return byte >= 0x80 && byte <= 0x9F;
    case 0xF0:
        return byte >= 0x90 && byte <= 0xBF;
    case 0xF4:
        return byte >= 0x80 && byte <= 0x8F;
    default:
        return is_continuation(byte);
    }
}

// Returns the number of bytes at s, of size, that agree with a character of n bytes.
static size_t matching_bytes(const uint8_t *s, size_t size, size_t n)
{
    size_t i = 1;
    while (i < n && i < size && (i == 1 ? is_second_byte(s[0], s[1]) : is_continuation(s[i]))) {
        i++;
    }
    return i;
}

// U+0080 to U+009F are controls too, and some terminals obey them.
static bool is_control(const uint8_t *s, size_t n)
{
    if (n == 1) {
        return (s[0] < 0x20 && s[0] != '\n' && s[0] != '\t') || s[0] == 0x7F;
    }
    return n == 2 && s[0] == 0xC2 && s[1] < 0xA0;
}

size_t gi_printable(char *text, size_t size)
{
    uint8_t *s = (uint8_t *)text;
    size_t i = 0;
    while (i < size) {
        size_t n = character_size(s[i]);
        size_t matching = n ? matching_bytes(s + i, size - i, n) : 0;
        if (n && matching < n && i + matching == size) {
            return i;
        }
        if (n && matching == n && !is_control(s + i, n)) {
            i += n;
        } else {
            s[i++] = '?';
        }
    }
    return size;
}
