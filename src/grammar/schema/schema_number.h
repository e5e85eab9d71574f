// Numbers as they are written, without rounding: comparison, and ranges and multiples as automata.
// Inner to src/grammar.
#pragma once

#include "grammar/schema/schema_set.h"

enum { GI_DECIMAL_DIGITS = 100 };

// 0.DIGITS * 10^point; digits have no zeros at either end, and are empty for 0.
struct gi_decimal {
    bool is_negative;
    int point, n;
    char digits[GI_DECIMAL_DIGITS]; // '0' to '9'
};

// Reads a number of JSON. Fails where it has more than 100 digits or its exponent is beyond 9999.
bool gi_decimal_read(const char *text, struct gi_decimal *number);
// Returns -1, 0 or 1 as a is below, equal to or above b.
int gi_decimal_compare(const struct gi_decimal *a, const struct gi_decimal *b);
bool gi_decimal_is_whole(const struct gi_decimal *number);
// Sets *is_multiple. Returns false if the divisor has too many digits.
bool gi_decimal_is_multiple(const struct gi_decimal *number, const struct gi_decimal *of,
                            bool *is_multiple);

// The relation of a number to a bound: x < bound, x <= bound, ...
enum gi_relation { GI_BELOW, GI_AT_MOST, GI_EQUAL, GI_NOT_EQUAL, GI_AT_LEAST, GI_ABOVE };
struct gi_bound {
    enum gi_relation relation;
    struct gi_decimal value;
};
bool gi_bound_holds(const struct gi_bound *bound, const struct gi_decimal *number);

// Returns the automaton of the decimal numbers of some types (GI_IS_WHOLE, GI_IS_BROKEN), without
// exponents and -0: whole ones of up to n_digits digits, others of up to 15 digits.
const struct gi_dfa *gi_number_digits(struct gi_schema_compiler *c, int types, int n_digits);
// Returns an automaton that has those decimal numbers for which a bound holds, and none for which
// it does not; the other way round if it sets *is_without.
const struct gi_dfa *gi_number_bound(struct gi_schema_compiler *c, const struct gi_bound *bound,
                                     bool *is_without);
// Returns the automaton of the decimal numbers that are multiples. Refuses more than 10,000
// remainders.
const struct gi_dfa *gi_number_multiples(struct gi_schema_compiler *c, const struct gi_decimal *of);
