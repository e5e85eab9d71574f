// Schemas that stand for others: $ref, and allOf as one schema. Inner to src/grammar.
#ifndef GI_GRAMMAR_SCHEMA_SCHEMA_MERGE_H
#define GI_GRAMMAR_SCHEMA_SCHEMA_MERGE_H

#include "grammar/schema/schema_writer.h"

// True for keywords that allow all: notes to readers, and definitions.
bool gi_schema_is_note(const char *keyword);
// True if the schema has keywords that are no notes, other than `but`, which may be NULL.
bool gi_schema_has_more(const cJSON *schema, const char *but);

// Returns the schema that a $ref leads to; NULL after a failure.
const cJSON *gi_schema_find_target(struct gi_schema_writer *writer, const cJSON *ref);

// Returns a schema that allows what all schemas of `list` (an array, one schema, or NULL) and the
// keywords of `schema` but `keyword` (which may be NULL) allow; the writer owns it. NULL after a
// failure: keywords that differ are refused, but for properties and required.
const cJSON *gi_schema_merge(struct gi_schema_writer *writer, const cJSON *schema,
                             const char *keyword, const cJSON *list);

#endif
