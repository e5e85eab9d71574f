// Regular expressions of a schema's `pattern` as grammars. Inner to src/grammar.
#ifndef GI_GRAMMAR_SCHEMA_SCHEMA_PATTERN_H
#define GI_GRAMMAR_SCHEMA_SCHEMA_PATTERN_H

#include "grammar/schema/schema_writer.h"

// Writes the body of a rule: JSON strings whose text the pattern matches. The pattern begins with ^
// and ends with $; characters, ".", classes, \d \D \w \W \s \S, \xHH, \uHHHH, groups, "|" within
// them, and * + ? {m} {m,} {m,n} are known. Refuses all else, with its place.
void gi_schema_write_pattern(struct gi_schema_writer *writer, const cJSON *pattern);

#endif
