#include "base/json_number.h"

#include <string.h>

static bool is_one_of(char byte, const char *set)
{
    return byte && strchr(set, byte);
}

const char *gi_json_find_number(const char *at, const char *end, size_t *size)
{
    bool is_quoted = false;
    for (; at < end && (is_quoted || !is_one_of(*at, "-0123456789")); at++) {
        is_quoted = is_quoted != (*at == '"');
        at += is_quoted && *at == '\\' && at + 1 < end;
    }
    *size = 0;
    while (at + *size < end && is_one_of(at[*size], "+-.0123456789Ee")) {
        ++*size;
    }
    return at < end ? at : NULL;
}

// Skips digits; false without a digit.
static bool skip_digits(const char **at, const char *end)
{
    const char *const begin = *at;
    while (*at < end && is_one_of(**at, "0123456789")) {
        ++*at;
    }
    return *at > begin;
}

bool gi_json_is_number(const char *text, size_t size)
{
    const char *const end = text + size, *at = text;
    at += size > 0 && *at == '-';
    const char *const first = at;
    bool is_right = skip_digits(&at, end) && (*first != '0' || at == first + 1);
    if (at < end && *at == '.') {
        at++;
        is_right = skip_digits(&at, end) && is_right;
    }
    if (at < end && is_one_of(*at, "eE")) {
        at++;
        at += at < end && is_one_of(*at, "+-");
        is_right = skip_digits(&at, end) && is_right;
    }
    return is_right && at == end;
}
