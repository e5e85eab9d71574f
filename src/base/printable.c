#include "base/printable.h"

#include "base/utf8.h"

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
        size_t n;
        const size_t matching = gi_utf8_match(text + i, size - i, &n);
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
