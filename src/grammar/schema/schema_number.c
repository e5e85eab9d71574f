#include "grammar/schema/schema_number.h"

#include "grammar/schema/schema_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_EXPONENT = 9999,
    MAX_REMAINDERS = 10000,
    MAX_MULTIPLE_STATES = 2000000,
    MAX_PLACES = 253, // of a bound before the point, or after it
};

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

// The numbers whose size, without the sign, is beyond that of a bound, or equal to it. Texts are
// matched against decimal numbers afterwards, so that a lone point or zeros in front do no harm.
struct sizes {
    struct gi_schema_compiler *c;
    struct gi_nfa nfa;
    bool has_beyond, has_equal;
    uint32_t match;  // the end
    uint32_t digits; // any digits
    uint32_t broken; // nothing, or a point and any digits
};

static uint32_t add_split(struct sizes *sizes, uint32_t next, uint32_t other)
{
    return gi_nfa_add(sizes->c, &sizes->nfa,
                      (struct gi_nfa_node){.kind = GI_NFA_SPLIT, .next = next, .other = other});
}

// Adds a byte from lo to hi; without one nothing passes.
static uint32_t add_byte(struct sizes *sizes, int lo, int hi, uint32_t next)
{
    const struct gi_nfa_node node = {.kind = GI_NFA_CLASS,
                                     .next = next,
                                     .first = (uint32_t)sizes->nfa.ranges.count,
                                     .count = lo <= hi};
    if (lo <= hi) {
        GI_SCHEMA_PUSH(sizes->c, &sizes->nfa.ranges,
                       (struct gi_code_range){(uint32_t)lo, (uint32_t)hi});
    }
    return gi_nfa_add(sizes->c, &sizes->nfa, node);
}

// Adds a byte from lo to hi any number of times.
static uint32_t add_loop(struct sizes *sizes, int lo, int hi, uint32_t next)
{
    const uint32_t loop = add_split(sizes, next, next), byte = add_byte(sizes, lo, hi, loop);
    if (!sizes->c->build.has_failed) {
        sizes->nfa.nodes.data[loop].other = byte;
    }
    return loop;
}

// Adds a digit that is that of the bound, or beyond it.
static uint32_t add_digit(struct sizes *sizes, char digit, uint32_t equal, uint32_t beyond)
{
    const uint32_t same = add_byte(sizes, digit, digit, equal);
    return sizes->has_beyond ? add_split(sizes, same, add_byte(sizes, digit + 1, '9', beyond))
                             : same;
}

// Adds what follows a whole part that is equal to that of the bound.
static uint32_t add_fraction(struct sizes *sizes, const struct gi_decimal *value)
{
    uint32_t next = add_loop(sizes, '0', '0', sizes->match);
    if (sizes->has_beyond) {
        next = sizes->has_equal
                   ? sizes->digits
                   : add_loop(sizes, '0', '0', add_byte(sizes, '1', '9', sizes->digits));
    }
    for (int i = value->n - 1; i >= (value->point > 0 ? value->point : 0); i--) {
        next = add_digit(sizes, value->digits[i], next, sizes->digits);
    }
    for (int i = value->point; i < 0; i++) { // zeros after the point
        next = add_digit(sizes, '0', next, sizes->digits);
    }
    next = add_byte(sizes, '.', '.', next);
    return gi_decimal_is_whole(value) && sizes->has_equal ? add_split(sizes, next, sizes->match)
                                                          : next;
}

static uint32_t add_number(struct sizes *sizes, const struct gi_decimal *value)
{
    sizes->match = gi_nfa_add(sizes->c, &sizes->nfa, (struct gi_nfa_node){.kind = GI_NFA_MATCH});
    sizes->digits = add_loop(sizes, '0', '9', sizes->match);
    sizes->broken = add_split(sizes, sizes->match, add_byte(sizes, '.', '.', sizes->digits));
    uint32_t next = add_fraction(sizes, value), rest = sizes->broken;
    for (int i = value->point > 0 ? value->point - 1 : 0; i >= 0; i--) {
        const char digit = value->point > 0 && i < value->n ? value->digits[i] : '0';
        next = add_digit(sizes, digit, next, rest);
        rest = add_byte(sizes, '0', '9', rest);
    }
    if (!sizes->has_beyond) {
        return next;
    }
    uint32_t longer = add_loop(sizes, '0', '9', sizes->broken);
    for (int i = value->point > 0 ? value->point : 1; i >= 0; i--) {
        longer = add_byte(sizes, '0', '9', longer);
    }
    return add_split(sizes, next, longer);
}

const struct gi_dfa *gi_number_bound(struct gi_schema_compiler *c, const struct gi_bound *bound,
                                     bool *is_without)
{
    const struct gi_decimal *value = &bound->value;
    const enum gi_relation relation = bound->relation;
    const bool is_point = relation == GI_EQUAL || relation == GI_NOT_EQUAL;
    const bool is_upper = relation == GI_BELOW || relation == GI_AT_MOST;
    const bool has_bound = relation == GI_AT_LEAST || relation == GI_AT_MOST;
    if (value->point > MAX_PLACES || value->n - value->point > MAX_PLACES) {
        gi_schema_refuse(c, "the number is too large or too small");
        return NULL;
    }
    // Away from 0 the bound's sign and size decide; the other numbers are all but those.
    *is_without = is_point ? relation == GI_NOT_EQUAL : is_upper != value->is_negative;
    struct sizes sizes = {
        .c = c, .has_beyond = !is_point, .has_equal = is_point || has_bound != *is_without};
    sizes.nfa.start = add_number(&sizes, value);
    if (value->is_negative) {
        sizes.nfa.start = add_byte(&sizes, '-', '-', sizes.nfa.start);
    }
    const struct gi_dfa *dfa = c->build.has_failed ? NULL : gi_dfa_of_nfa(c, &sizes.nfa);
    gi_nfa_finish(&sizes.nfa);
    return dfa;
}

//-- multiples -------------------------------------------------------------------------------------

const struct gi_dfa *gi_number_multiples(struct gi_schema_compiler *c, const struct gi_decimal *of)
{
    uint32_t divisor;
    int n_after;
    if (of->is_negative || of->n == 0) {
        gi_schema_refuse(c, "'multipleOf' must be greater than 0");
        return NULL;
    }
    if (!split_divisor(of, &divisor, &n_after) ||
        divisor * ((uint32_t)n_after + 3) > MAX_MULTIPLE_STATES) {
        gi_schema_refuse(c, "'multipleOf' of more than 4 digits is not supported");
        return NULL;
    }
    struct gi_dfa *dfa = gi_dfa_create(c);
    bool is_ok = dfa && gi_dfa_add_state(c, dfa, false) && gi_dfa_add_edge(c, dfa, '-', '-', 0);
    // The remainder of the digits so far, by phase: in the whole part, after the point, each
    // further digit. State 0 is before the number.
    const uint32_t n_phases = (uint32_t)n_after + 2;
    for (uint32_t code = 0; is_ok && code <= n_phases * divisor; code++) {
        const uint32_t phase = code > 0 ? (code - 1) / divisor : 0;
        const uint32_t rest = code > 0 ? (code - 1) % divisor : 0;
        const uint32_t next = phase == 0 ? 0 : phase + 1;
        if (code > 0) {
            uint32_t whole = rest;
            for (uint32_t i = phase > 1 ? phase - 1 : 0; i < (uint32_t)n_after; i++) {
                whole = whole * 10 % divisor;
            }
            is_ok = gi_dfa_add_state(c, dfa, whole == 0) &&
                    (phase > 0 || gi_dfa_add_edge(c, dfa, '.', '.', 1 + divisor + rest));
        }
        if (next == n_phases) { // only zeros
            is_ok = is_ok && gi_dfa_add_edge(c, dfa, '0', '0', code);
            continue;
        }
        for (uint32_t digit = 0; is_ok && digit < 10; digit++) {
            is_ok = gi_dfa_add_edge(c, dfa, '0' + digit, '0' + digit,
                                    1 + next * divisor + (rest * 10 + digit) % divisor);
        }
    }
    return is_ok ? gi_dfa_tidy(c, dfa) : NULL;
}
