// Rules of schemas of any kind. Inner to src/grammar.
#pragma once

#include "grammar/schema/schema_compiler.h"

// Builds the rule of the compiler's root and all that it needs; returns its index.
uint32_t gi_schema_visit(struct gi_schema_compiler *c);
