// Rules of objects. Inner to src/grammar.
#pragma once

#include "grammar/schema/schema_set.h"

// Builds the objects of a case, their properties in the order of the schema; GI_BUILD_NOTHING
// without any.
uint32_t gi_schema_build_object(struct gi_schema_compiler *c, const struct gi_case *one);
