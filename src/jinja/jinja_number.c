#include "jinja/jinja_number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- syntax ----------------------------------------------------------------------------------------

static bool is_one_of(char byte, const char *set)
{
    return byte && strchr(set, byte);
}

const char *gi_jinja_find_number(const char *at, const char *end, size_t *size)
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

static bool is_valid(const char *at, size_t size)
{
    const char *const end = at + size;
    at += *at == '-';
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

char *gi_jinja_hide_numbers(struct gi_jinja_pool *pool, struct gi_jinja_string text)
{
    char *copy = gi_jinja_allocate(pool, text.size + 1);
    const char *number = text.data;
    size_t n = 0;
    if (!copy || text.size == 0) {
        return copy;
    }
    memcpy(copy, text.data, text.size);
    while ((number = gi_jinja_find_number(number + n, text.data + text.size, &n))) {
        char *place = copy + (number - text.data);
        memset(place, ' ', n);
        *place = is_valid(number, n) ? '0' : '?';
    }
    return copy;
}

//-- values ----------------------------------------------------------------------------------------

// Returns the value of digits with a point, whatever the locale of the program is.
static double to_double(const char *digits)
{
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0) {
        return NAN;
    }
    const double value = strtod_l(digits, NULL, c_locale);
    freelocale(c_locale);
    return value;
}

// Replaces the separator of the program's locale in a printed number by a point.
static void write_point(char *number)
{
    char *to = number;
    for (const char *from = number; *from; from++) {
        if (is_one_of(*from, "0123456789+-e")) {
            *to++ = *from;
        } else if (to[-1] != '.') { // a separator may have several bytes
            *to++ = '.';
        }
    }
    *to = '\0';
}

// Writes a double in the fewest digits that read back as it, as Python does.
static void write_double(double value, char *out, size_t capacity)
{
    int n_digits = 0, exponent;
    do {
        snprintf(out, capacity, "%.*e", n_digits++, value);
        write_point(out);
    } while (n_digits < 17 && to_double(out) != value);
    exponent = (int)strtol(strchr(out, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 16) {
        const int decimals = n_digits - 1 - exponent;
        snprintf(out, capacity, "%.*f", decimals > 1 ? decimals : 1, value);
        write_point(out);
    }
}

struct gi_jinja_value gi_jinja_read_number(struct gi_jinja_pool *pool,
                                           struct gi_jinja_string number)
{
    char *digits = gi_jinja_allocate(pool, number.size + 1), printed[40] = "";
    struct gi_jinja_float *real = gi_jinja_new(pool, sizeof(*real));
    if (!digits) {
        return gi_jinja_undefined();
    }
    memcpy(digits, number.data, number.size);
    errno = 0;
    const int64_t whole = strtoll(digits, NULL, 10);
    const bool is_integer = !strpbrk(digits, ".eE");
    if (is_integer && errno == 0) {
        return gi_jinja_int(whole);
    }
    real->value = to_double(digits);
    real->digits = gi_jinja_string_of(digits);
    if (!is_integer && isfinite(real->value)) {
        write_double(real->value, printed, sizeof(printed));
        real->digits = gi_jinja_copy(pool, gi_jinja_string_of(printed));
    }
    return (struct gi_jinja_value){.kind = GI_JINJA_FLOAT, .real = real};
}
