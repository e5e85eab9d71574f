#include "cli/serve/api/serve_text.h"

#include <string.h>

static size_t expected_size(unsigned char first)
{
    return first < 0x80                    ? 1
           : first >= 0xC2 && first < 0xE0 ? 2
           : first >= 0xE0 && first < 0xF0 ? 3
           : first >= 0xF0 && first < 0xF5 ? 4
                                           : 0;
}

size_t serve_measure_character(const char *text, size_t size)
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t n = size > 0 ? expected_size(c[0]) : 0;
    if (n == 0 || n > size) {
        return 0;
    }
    // Longer than need be, surrogates, and what is beyond Unicode.
    if ((c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xED && c[1] >= 0xA0) ||
        (c[0] == 0xF0 && c[1] < 0x90) || (c[0] == 0xF4 && c[1] >= 0x90)) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return n;
}

static bool is_zero_escape(const char *text, size_t size)
{
    static const char zero[] = "u0000";
    const size_t n = sizeof(zero) - 1;
    return size >= n && memcmp(text, zero, n) == 0;
}

const char *serve_find_fault(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        const size_t n = serve_measure_character(text + i, size - i);
        if (n == 0) {
            return "it is not UTF-8";
        }
        if (text[i] == 0) {
            return "it has a zero byte";
        }
        i += n;
        if (text[i - 1] == '\\' && i < size) {
            if (is_zero_escape(text + i, size - i)) {
                return "it has a zero character (\\u0000), which texts cannot hold";
            }
            i += text[i] == '\\' || text[i] == '"'; // an escaped one escapes nothing
        }
    }
    return NULL;
}
