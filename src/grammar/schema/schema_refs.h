// Finds the schema that a $ref leads to: within the document, by pointers, anchors and the $id of
// embedded schemas. Inner to src/grammar.
#pragma once

#include "grammar/schema/schema_compiler.h"

// Finds the schemas within the compiler's root and those that have an $id. Fails by the compiler.
void gi_schema_index_create(struct gi_schema_compiler *c);
void gi_schema_index_destroy(struct gi_schema_index *index);

// Returns the schema that $ref or $dynamicRef, an item of a schema, leads to; NULL if it is
// refused.
const cJSON *gi_schema_find_target(struct gi_schema_compiler *c, const cJSON *schema,
                                   const cJSON *ref);
