// The schemas that a case asks the members of an object and the items of an array to satisfy. Inner
// to src/grammar.
#pragma once

#include "grammar/schema/schema_set.h"

// The name of a member; or any name of a class: that which some of `patterns` match, as the bits of
// `matches` say, and no `properties` name.
struct gi_key {
    const char *name; // NULL: a class
    const cJSON *const *patterns;
    uint32_t n_patterns, matches;
};

// Adds the schemas that a member's value has to satisfy.
void gi_schema_member_set(struct gi_schema_compiler *c, const struct gi_case *one,
                          const struct gi_key *key, struct gi_schema_set *set);

// Adds the schemas that item i of an array has to satisfy; UINT32_MAX: items after those that
// schemas name one by one.
void gi_schema_item_set(struct gi_schema_compiler *c, const struct gi_case *one, uint32_t i,
                        struct gi_schema_set *set);

// Returns how many items schemas name one by one.
uint32_t gi_schema_count_first(struct gi_schema_compiler *c, const struct gi_case *one);

// Returns true if the names of members may be name.
bool gi_schema_allows_name(struct gi_schema_compiler *c, const struct gi_case *one,
                           const char *name);
