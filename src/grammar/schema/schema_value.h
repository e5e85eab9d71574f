// Values that schemas name, const and enum: whether they satisfy all else. Inner to src/grammar.
#pragma once

#include "grammar/schema/schema_set.h"

// Returns the first constant, or list of them, that a case has to be one of, or NULL.
const cJSON *gi_schema_constants_of(struct gi_schema_compiler *c, const struct gi_case *one);
// Returns true if a value satisfies a case.
bool gi_schema_allows(struct gi_schema_compiler *c, const struct gi_case *one, const cJSON *value);
// Returns true if a case has constants, and none satisfies it.
bool gi_schema_has_no_constant(struct gi_schema_compiler *c, const struct gi_case *one);
