// Rules of arrays. Inner to src/grammar.
#pragma once

#include "grammar/schema/schema_set.h"

// Builds the arrays of a case; GI_BUILD_NOTHING without any.
uint32_t gi_schema_build_array(struct gi_schema_compiler *c, const struct gi_case *one);

// Finds kinds of items of a set that never are equal, for uniqueItems: constants, and strings and
// numbers by their first character. Builds up to `capacity` rules; returns their number. Refuses
// arrays and objects.
size_t gi_schema_distinct_items(struct gi_schema_compiler *c, const struct gi_schema_set *set,
                                uint32_t *rules, size_t capacity);
