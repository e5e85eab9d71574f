#include "cli/common/cli_utf8.h"

#include <string.h>

size_t cli_utf8_expected_size(char first)
{
    const unsigned char lead = (unsigned char)first;
    return lead < 0x80 ? 1 : lead < 0xC2 || lead > 0xF4 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

size_t cli_utf8_size(const char *text, size_t size)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = size > 0 ? cli_utf8_expected_size(text[0]) : 0;
    if (n > size) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if (!cli_utf8_continues(text[i])) {
            return 0;
        }
    }
    const uint32_t code = cli_utf8_decode(text, n);
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    return code >= least[n] && code <= 0x10FFFF && !is_surrogate ? n : 0;
}

bool cli_utf8_is_valid(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t step = 1; n < size && step > 0; n += step) {
        step = cli_utf8_size(text + n, size - n);
    }
    return n == size;
}

uint32_t cli_utf8_decode(const char *text, size_t size)
{
    uint32_t code = size > 0 ? (unsigned char)text[0] & (size == 1 ? 0x7FU : 0x7FU >> size) : 0;
    for (size_t i = 1; i < size; i++) {
        code = code << 6 | ((unsigned char)text[i] & 0x3FU);
    }
    return code;
}

size_t cli_utf8_encode(uint32_t code, char out[4])
{
    static const unsigned char leads[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    const size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code >>= 6) {
        out[i] = (char)(0x80 | (code & 0x3F));
    }
    out[0] = (char)(leads[size] | code);
    return size;
}

const char *cli_utf8_tail(const char *text, size_t size, size_t width)
{
    if (size <= width) {
        return text;
    }
    const char *from = text + (size - width), *space = strchr(from - 1, ' ');
    if (space && space[1]) {
        return space + 1;
    }
    while (cli_utf8_continues(*from)) {
        from++;
    }
    return from;
}
