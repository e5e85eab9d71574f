// Grammars of strings, integers and constants. Each writes the body of a rule. Inner to
// src/grammar.
#ifndef GI_GRAMMAR_SCHEMA_SCHEMA_SCALAR_H
#define GI_GRAMMAR_SCHEMA_SCHEMA_SCALAR_H

#include "grammar/schema/schema_writer.h"

// Writes the rules that all grammars of schemas share: ws, value, object, array, string, char,
// number, integer, and those of formats.
void gi_schema_write_shared(struct gi_schema_writer *writer);

// A string by pattern, format, minLength and maxLength.
void gi_schema_write_string(struct gi_schema_writer *writer, const cJSON *schema);
// An integer by minimum, maximum and their exclusive kin.
void gi_schema_write_integer(struct gi_schema_writer *writer, const cJSON *schema);
// The texts of one JSON value. Sets no white space.
void gi_schema_write_constant(struct gi_schema_writer *writer, const cJSON *value);

#endif
