// Rules of arrays. Inner to src/grammar.
#ifndef GI_GRAMMAR_SCHEMA_SCHEMA_ARRAY_H
#define GI_GRAMMAR_SCHEMA_SCHEMA_ARRAY_H

#include "grammar/schema/schema_set.h"

// Writes the arrays of a case; returns their rule, or GI_SCHEMA_NO_RULE.
uint32_t gi_schema_write_array(struct gi_schema_writer *writer, const struct gi_case *one);

// Finds kinds of items of a set that never are equal, for uniqueItems: constants, and strings and
// numbers by what they begin with. Writes up to `capacity` rules; returns how many there are.
// Refuses arrays and objects.
size_t gi_schema_distinct_items(struct gi_schema_writer *writer, const struct gi_schema_set *set,
                                uint32_t *rules, size_t capacity);

#endif
