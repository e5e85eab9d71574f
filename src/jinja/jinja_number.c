#include "jinja/jinja_number.h"

#include "base/json_number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *gi_jinja_hide_numbers(struct gi_jinja_pool *pool, struct gi_jinja_string text)
{
    char *copy = gi_jinja_allocate(pool, text.size + 1);
    const char *number = text.data;
    size_t n = 0;
    if (!copy || text.size == 0) {
        return copy;
    }
    memcpy(copy, text.data, text.size);
    while ((number = gi_json_find_number(number + n, text.data + text.size, &n))) {
        char *place = copy + (number - text.data);
        memset(place, ' ', n);
        *place = gi_json_is_number(number, n) ? '0' : '?';
    }
    return copy;
}

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
        if (strchr("0123456789+-e", *from)) {
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
