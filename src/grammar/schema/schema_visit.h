// Rules for schemas of any kind. Inner to src/grammar.
#ifndef GI_GRAMMAR_SCHEMA_SCHEMA_VISIT_H
#define GI_GRAMMAR_SCHEMA_SCHEMA_VISIT_H

#include "grammar/schema/schema_writer.h"

// Writes the rule of a schema and all that it needs; returns its number, GI_SCHEMA_NO_RULE after a
// failure.
uint32_t gi_schema_visit(struct gi_schema_writer *writer, const cJSON *schema);

#endif
