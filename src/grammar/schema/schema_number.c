#include "grammar/schema/schema_number.h"

#include "grammar/schema/schema_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EXPONENT = 9999, MAX_REMAINDERS = 10000 };

//-- decimals --------------------------------------------------------------------------------------

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

bool gi_decimal_read(const char *text, struct gi_decimal *number)
{
    int exponent = 0;
    bool has_point = false;
    *number = (struct gi_decimal){.is_negative = *text == '-'};
    for (text += *text == '-'; is_digit(*text) || *text == '.'; text++) {
        if (*text == '.') {
            has_point = true;
            continue;
        }
        if (number->n > 0 || *text != '0') {
            if (number->n == GI_DECIMAL_DIGITS) {
                return false;
            }
            number->digits[number->n++] = *text;
            number->point += !has_point;
        } else {
            number->point -= has_point;
        }
    }
    if (*text == 'e' || *text == 'E') {
        const long value = strtol(text + 1, NULL, 10);
        if (value > MAX_EXPONENT || value < -MAX_EXPONENT) {
            return false;
        }
        exponent = (int)value;
    }
    while (number->n > 0 && number->digits[number->n - 1] == '0') {
        number->n--;
    }
    number->point = number->n > 0 ? number->point + exponent : 0;
    number->is_negative = number->is_negative && number->n > 0;
    return true;
}

static int compare_size(const struct gi_decimal *a, const struct gi_decimal *b)
{
    if (a->n == 0 || b->n == 0) {
        return (a->n > 0) - (b->n > 0);
    }
    if (a->point != b->point) {
        return a->point < b->point ? -1 : 1;
    }
    const int n = a->n < b->n ? a->n : b->n;
    const int order = memcmp(a->digits, b->digits, (size_t)n);
    return order ? (order > 0) - (order < 0) : (a->n > b->n) - (a->n < b->n);
}

int gi_decimal_compare(const struct gi_decimal *a, const struct gi_decimal *b)
{
    if (a->is_negative != b->is_negative) {
        return a->is_negative ? -1 : 1;
    }
    return a->is_negative ? compare_size(b, a) : compare_size(a, b);
}

bool gi_decimal_is_whole(const struct gi_decimal *number)
{
    return number->n <= number->point || number->n == 0;
}

// Splits a divisor into a whole number of remainders and its digits after the point.
static bool split_divisor(const struct gi_decimal *of, uint32_t *divisor, int *n_after)
{
    uint32_t value = 0;
    *n_after = of->n > of->point ? of->n - of->point : 0;
    const int n = *n_after > 0 ? of->n : of->point;
    for (int i = 0; i < n; i++) {
        value = value * 10 + (i < of->n ? (uint32_t)(of->digits[i] - '0') : 0);
        if (value > MAX_REMAINDERS) {
            return false;
        }
    }
    *divisor = value;
    return value > 0 && *n_after <= 30;
}

bool gi_decimal_is_multiple(const struct gi_decimal *number, const struct gi_decimal *of,
                            bool *is_multiple)
{
    uint32_t divisor, rest = 0;
    int n_after;
    if (!split_divisor(of, &divisor, &n_after)) {
        return false;
    }
    const int n = number->point + n_after; // digits down to the divisor's last place
    if (number->n > (n > 0 ? n : 0)) {
        *is_multiple = number->n == 0;
        return true;
    }
    for (int i = 0; i < n; i++) {
        rest = (rest * 10 + (i < number->n ? (uint32_t)(number->digits[i] - '0') : 0)) % divisor;
    }
    *is_multiple = rest == 0;
    return true;
}

static bool holds(enum gi_relation relation, int order)
{
    switch (relation) {
    case GI_BELOW:
        return order < 0;
    case GI_AT_MOST:
        return order <= 0;
    case GI_EQUAL:
        return order == 0;
    case GI_NOT_EQUAL:
        return order != 0;
    case GI_AT_LEAST:
        return order >= 0;
    case GI_ABOVE:
        return order > 0;
    }
    return false;
}

bool gi_bound_holds(const struct gi_bound *bound, const struct gi_decimal *number)
{
    return holds(bound->relation, gi_decimal_compare(number, &bound->value));
}

//-- how many digits -------------------------------------------------------------------------------

const struct gi_dfa *gi_number_digits(struct gi_schema_compiler *c, int types, int n_digits)
{
    char text[160];
    snprintf(text, sizeof(text),
             "^(?!-[0.]*$)(?=-?(?:\\d+|[\\d.]{1,16})$)%s-?(?:0|[1-9]\\d{0,%d})%s$",
             types & GI_IS_WHOLE ? "" : "(?=.*\\..*[1-9])", n_digits - 1,
             types & GI_IS_BROKEN ? "(?:\\.\\d+)?" : "");
    return gi_schema_pattern(c, text, false);
}

//-- bounds ----------------------------------------------------------------------------------------

// A place in a number: whether it is below 0, the part that is read, how many digits of it, and
// how these compare with as many of the bound: 0 below, 1 equal, 2 above.
struct place {
    bool is_negative;
    enum { AT_BEGIN, AT_SIGN, IN_WHOLE, AT_POINT, IN_BROKEN, N_PLACES } part;
    uint32_t n, order;
};

enum { MAX_N = 256, N_ORDERS = 3 };

static uint32_t code_of(struct place place)
{
    return ((place.part * 2u + place.is_negative) * MAX_N + place.n) * N_ORDERS + place.order;
}

static struct place place_of(uint32_t code)
{
    const uint32_t head = code / N_ORDERS / MAX_N;
    return (struct place){.is_negative = head % 2,
                          .part = head / 2,
                          .n = code / N_ORDERS % MAX_N,
                          .order = code % N_ORDERS};
}

// Moves on over the form of a number; false where a byte does not fit. The caller counts digits.
static bool move(struct place *place, char byte)
{
    if (byte == '-') {
        place->is_negative = true;
        const bool fits = place->part == AT_BEGIN;
        place->part = AT_SIGN;
        return fits;
    }
    if (byte == '.') {
        const bool fits = place->part == IN_WHOLE;
        place->part = AT_POINT;
        return fits;
    }
    place->part = place->part <= IN_WHOLE ? IN_WHOLE : IN_BROKEN;
    return true;
}

static uint32_t n_whole_of(const struct gi_decimal *value)
{
    return value->point > 0 ? (uint32_t)value->point : 1;
}

// Returns a digit of the bound: of its whole part, or after the point.
static char digit_at(const struct gi_decimal *value, bool is_whole, uint32_t i)
{
    if (is_whole && value->point <= 0) {
        return '0';
    }
    const int at = is_whole ? (int)i : value->point + (int)i;
    return at >= 0 && at < value->n ? value->digits[at] : '0';
}

static uint32_t n_after_of(const struct gi_decimal *value)
{
    return value->n > value->point ? (uint32_t)(value->n - value->point) : 0;
}

// Returns how a whole part that was read compares.
static uint32_t order_of_whole(const struct gi_decimal *value, const struct place *place)
{
    const uint32_t n = n_whole_of(value);
    return place->n < n ? 0 : place->n > n ? 2 : place->order;
}

static uint32_t step_bound(const void *user, uint32_t code, char byte)
{
    const struct gi_bound *bound = user;
    struct place place = place_of(code);
    if (!move(&place, byte)) {
        return GI_DFA_STOP;
    }
    if (byte == '.') {
        place.order = order_of_whole(&bound->value, &place);
        place.n = 0;
    } else if (is_digit(byte)) {
        const bool is_whole = place.part == IN_WHOLE;
        const uint32_t n = is_whole ? n_whole_of(&bound->value) : n_after_of(&bound->value);
        const char other = place.n < n ? digit_at(&bound->value, is_whole, place.n) : '0';
        if (place.order == 1 && byte != other && (place.n < n || !is_whole)) {
            place.order = byte < other ? 0 : 2;
        }
        place.n += place.n <= n; // beyond: all alike
    }
    return code_of(place);
}

static bool ends_bound(const void *user, uint32_t code)
{
    const struct gi_bound *bound = user;
    const struct place place = place_of(code);
    const bool is_below_zero = bound->value.is_negative;
    const uint32_t n_after = n_after_of(&bound->value);
    if (place.part != IN_WHOLE && place.part != IN_BROKEN) {
        return false;
    }
    int order = (int)place.order - 1; // of what follows the sign
    if (place.part == IN_WHOLE) {
        order = (int)order_of_whole(&bound->value, &place) - 1;
        order = order == 0 && n_after > 0 ? -1 : order;
    } else if (order == 0 && place.n < n_after) {
        order = -1;
    }
    if (place.is_negative != is_below_zero) {
        order = place.is_negative ? -1 : 1;
    } else if (place.is_negative) {
        order = -order;
    }
    return holds(bound->relation, order);
}

const struct gi_dfa *gi_number_bound(struct gi_schema_compiler *c, const struct gi_bound *bound)
{
    const struct gi_dfa_machine machine = {.n_codes = N_PLACES * 2 * MAX_N * N_ORDERS,
                                           .start = code_of((struct place){.order = 1}),
                                           .step = step_bound,
                                           .is_end = ends_bound,
                                           .user = bound};
    if (n_whole_of(&bound->value) + 2 >= MAX_N || n_after_of(&bound->value) + 2 >= MAX_N) {
        gi_schema_refuse(c, "the number is too large or too small");
        return NULL;
    }
    return gi_dfa_of_machine(c, &machine);
}

//-- multiples -------------------------------------------------------------------------------------

struct divisor {
    uint32_t value;
    int n_after;
};

static uint32_t step_multiple(const void *user, uint32_t code, char byte)
{
    const struct divisor *divisor = user;
    const uint32_t n_more = divisor->value, part = code / n_more;
    const uint32_t rest = code % n_more, n_after = (uint32_t)divisor->n_after;
    // part: 0 before the number, 1 in its whole part, 2 + n after the point and n digits
    if (byte == '-') {
        return part == 0 ? code : GI_DFA_STOP;
    }
    if (byte == '.') {
        return part == 1 ? 2 * n_more + rest : GI_DFA_STOP;
    }
    if (part == 2 + n_after) {
        return byte == '0' ? code : GI_DFA_STOP;
    }
    const uint32_t next = (rest * 10 + (uint32_t)(byte - '0')) % n_more;
    return (part < 2 ? 1 : part + 1) * n_more + next;
}

static bool ends_multiple(const void *user, uint32_t code)
{
    const struct divisor *divisor = user;
    const uint32_t part = code / divisor->value;
    uint32_t rest = code % divisor->value;
    for (int i = part > 2 ? (int)part - 2 : 0; i < divisor->n_after; i++) {
        rest = rest * 10 % divisor->value;
    }
    return part > 0 && rest == 0;
}

const struct gi_dfa *gi_number_multiples(struct gi_schema_compiler *c, const struct gi_decimal *of)
{
    struct divisor divisor;
    if (of->is_negative || of->n == 0) {
        gi_schema_refuse(c, "'multipleOf' must be greater than 0");
        return NULL;
    }
    if (!split_divisor(of, &divisor.value, &divisor.n_after) ||
        divisor.value * ((uint32_t)divisor.n_after + 3) > 2000000) {
        gi_schema_refuse(c, "'multipleOf' of more than 4 digits is not supported");
        return NULL;
    }
    const struct gi_dfa_machine machine = {.n_codes =
                                               divisor.value * ((uint32_t)divisor.n_after + 3),
                                           .start = 0,
                                           .step = step_multiple,
                                           .is_end = ends_multiple,
                                           .user = &divisor};
    return gi_dfa_of_machine(c, &machine);
}
