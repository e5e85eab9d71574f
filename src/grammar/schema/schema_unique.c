#include "grammar/schema/schema_array.h"
#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_pattern.h"
#include "grammar/schema/schema_scalar.h"
#include "grammar/schema/schema_string.h"
#include "grammar/schema/schema_value.h"

#include <string.h>

// Strings and numbers that begin with characters of different groups are different; one array has
// one of each. More groups would take twice as many rules each.
static const char *const string_groups[] = {
    "^[aA]",     "^[bcBC]",   "^[d-fD-F]", "^[g-iG-I]", "^[j-mJ-M]",
    "^[n-pN-P]", "^[q-sQ-S]", "^[t-zT-Z]", "^[0-4]",    "^(?:[^a-zA-Z0-4]|$)",
};
static const char *const number_groups[] = {"^1", "^2", "^3", "^4", "^5",
                                            "^6", "^7", "^8", "^9", "^[0-]"};
enum { N_GROUPS = 10, N_FREE = GI_IS_STRING | GI_IS_NUMBER };

struct kinds {
    struct gi_schema_compiler *c;
    uint32_t *rules;
    size_t count, capacity;
    int free_types;     // types of which there are groups
    int constant_types; // types of which there are constants
    const cJSON *constants[300];
    size_t n_constants;
    bool is_refused;
};

static void refuse(struct kinds *kinds)
{
    kinds->is_refused = true;
    gi_schema_refuse(kinds->c, "'uniqueItems' is supported for constants, and for strings or "
                               "numbers of one kind");
}

static void add(struct kinds *kinds, uint32_t first)
{
    if (kinds->count < kinds->capacity) {
        kinds->rules[kinds->count++] = gi_build_rule(&kinds->c->build, first);
    } else {
        refuse(kinds);
    }
}

static void add_constant(struct kinds *kinds, const cJSON *value)
{
    for (size_t i = 0; i < kinds->n_constants; i++) {
        if (gi_schema_is_equal(kinds->constants[i], value)) {
            return;
        }
    }
    if (kinds->n_constants == sizeof(kinds->constants) / sizeof(kinds->constants[0])) {
        refuse(kinds);
        return;
    }
    kinds->constants[kinds->n_constants++] = value;
    kinds->constant_types |= cJSON_IsString(value)        ? GI_IS_STRING
                             : gi_schema_is_number(value) ? GI_IS_NUMBER
                                                          : 0;
    add(kinds, gi_schema_build_constant(kinds->c, value));
}

static void add_groups(struct kinds *kinds, const struct gi_dfa *dfa, bool is_string)
{
    const int types = is_string ? GI_IS_STRING : GI_IS_NUMBER;
    if (kinds->free_types & types) {
        refuse(kinds);
        return;
    }
    kinds->free_types |= types;
    for (size_t i = 0; i < N_GROUPS && !kinds->c->build.has_failed; i++) {
        const char *pattern = is_string ? string_groups[i] : number_groups[i];
        const struct gi_dfa *group =
            gi_dfa_product(kinds->c, dfa, gi_schema_pattern(kinds->c, pattern, false), false);
        if (group && !gi_dfa_is_empty(group)) {
            add(kinds, gi_schema_build_dfa(kinds->c, group, is_string, GI_BUILD_END));
        }
    }
}

static void add_case(struct kinds *kinds, struct gi_case *one)
{
    static const cJSON plain[] = {
        {.type = cJSON_True}, {.type = cJSON_False}, {.type = cJSON_NULL}};
    struct gi_schema_compiler *c = kinds->c;
    const cJSON *constants = gi_schema_constants_of(c, one);
    if (constants) {
        for (const cJSON *value = gi_schema_first_value(constants); value;
             value = gi_schema_next_value(constants, value)) {
            if (gi_schema_allows(c, one, value)) {
                add_constant(kinds, value);
            }
        }
        return;
    }
    one->types = gi_schema_asked_types(one);
    if (one->types & (GI_IS_OBJECT | GI_IS_ARRAY)) {
        refuse(kinds);
        return;
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (gi_schema_allows(c, one, &plain[i])) {
            add_constant(kinds, &plain[i]);
        }
    }
    if (one->types & GI_IS_STRING) {
        const struct gi_strings strings = gi_schema_strings_of(c, one);
        add_groups(kinds, gi_strings_automaton(c, &strings), true);
    }
    if (one->types & GI_IS_NUMBER) {
        add_groups(kinds, gi_schema_numbers_of(c, one, true), false);
    }
}

// NOLINTNEXTLINE(readability-non-const-parameter): rules is written by way of kinds
size_t gi_schema_distinct_items(struct gi_schema_compiler *c, const struct gi_schema_set *set,
                                uint32_t *rules, size_t capacity)
{
    struct kinds kinds = {.c = c, .rules = rules, .capacity = capacity};
    struct gi_cases cases = {0};
    gi_schema_expand(c, set, &cases);
    for (size_t i = 0; i < cases.count && !c->build.has_failed; i++) {
        struct gi_case one = cases.data[i];
        add_case(&kinds, &one);
    }
    gi_schema_cases_finish(&cases);
    if (kinds.free_types & kinds.constant_types) {
        refuse(&kinds);
    }
    return kinds.is_refused ? 0 : kinds.count;
}
