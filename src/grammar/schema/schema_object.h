// Rules for objects. Inner to src/grammar.
#ifndef GI_GRAMMAR_SCHEMA_SCHEMA_OBJECT_H
#define GI_GRAMMAR_SCHEMA_SCHEMA_OBJECT_H

#include "grammar/schema/schema_writer.h"

// Writes the rule of objects by properties, required and additionalProperties; returns its number.
uint32_t gi_schema_visit_object(struct gi_schema_writer *writer, const cJSON *schema);

#endif
