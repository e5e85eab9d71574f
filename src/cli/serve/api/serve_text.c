#include "cli/serve/api/serve_text.h"

#include "cli/common/cli_utf8.h"

#include <string.h>

static bool is_zero_escape(const char *text, size_t size)
{
    static const char zero[] = "u0000";
    const size_t n = sizeof(zero) - 1;
    return size >= n && memcmp(text, zero, n) == 0;
}

const char *serve_find_fault(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        const size_t n = cli_utf8_size(text + i, size - i);
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
