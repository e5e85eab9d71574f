// Rules of objects. Inner to src/grammar.
#ifndef GI_GRAMMAR_SCHEMA_SCHEMA_OBJECT_H
#define GI_GRAMMAR_SCHEMA_SCHEMA_OBJECT_H

#include "grammar/schema/schema_set.h"

// Writes the objects of a case, their properties in the order of the schema; returns their rule,
// or GI_SCHEMA_NO_RULE.
uint32_t gi_schema_write_object(struct gi_schema_writer *writer, const struct gi_case *one);

#endif
