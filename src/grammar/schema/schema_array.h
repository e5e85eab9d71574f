// Rules for arrays. Inner to src/grammar.
#ifndef GI_GRAMMAR_SCHEMA_SCHEMA_ARRAY_H
#define GI_GRAMMAR_SCHEMA_SCHEMA_ARRAY_H

#include "grammar/schema/schema_writer.h"

// Writes the rule of arrays by items, prefixItems, minItems and maxItems; returns its number.
uint32_t gi_schema_visit_array(struct gi_schema_writer *writer, const cJSON *schema);

#endif
