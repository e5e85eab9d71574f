// Rules that all schemas share, numbers and constants. Inner to src/grammar.
#pragma once

#include "grammar/gbnf/grammar_parser.h"
#include "grammar/schema/schema_number.h"
#include "grammar/schema/schema_set.h"

// Builds the rules that do not depend on the schema, and adds their names to gbnf.
void gi_schema_build_shared_rules(struct gi_schema_compiler *c, struct gi_gbnf *gbnf);

// Builds a value, with the digits of its numbers.
uint32_t gi_schema_build_constant(struct gi_schema_compiler *c, const cJSON *value);

// Reads minimum, maximum or an exclusive one of a schema, or what has to hold if it is broken.
// Returns false if item is another keyword, or refused.
bool gi_schema_read_bound(struct gi_schema_compiler *c, const cJSON *schema, const cJSON *item,
                          bool breaks, struct gi_bound *bound);

// Returns the automaton of the decimal numbers of a case. NULL if the case asks nothing of numbers,
// unless is_all.
const struct gi_dfa *gi_schema_numbers_of(struct gi_schema_compiler *c, const struct gi_case *one,
                                          bool is_all);
// Builds the numbers of a case; GI_BUILD_NOTHING without any.
uint32_t gi_schema_build_numbers(struct gi_schema_compiler *c, const struct gi_case *one);
