// Turns a JSON schema into a grammar whose texts are JSON that the schema allows.
//
// Supported: type (also several), enum, const, properties, required, additionalProperties, items,
// prefixItems, minItems, maxItems, minLength, maxLength, pattern, format (date, time, date-time,
// uuid), minimum, maximum, exclusiveMinimum and exclusiveMaximum of integers, anyOf, oneOf, allOf,
// $ref within the schema, true and the empty schema (any JSON). Properties come in the order of the
// schema. Everything else is refused by its name, but for notes to readers: title, description,
// default, examples, deprecated, readOnly, writeOnly, $comment, $schema and $id.
//
// A grammar may allow less than its schema: properties that are not named only if
// additionalProperties asks for them, every item of prefixItems, at most 10,000 characters or
// items, numbers of at most 16 digits, white space of one line end and 20 spaces at most. oneOf is
// read as anyOf: its schemas should exclude each other.
#ifndef GI_GRAMMAR_SCHEMA_JSON_SCHEMA_H
#define GI_GRAMMAR_SCHEMA_JSON_SCHEMA_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

// A grammar's text in GBNF, for gi_grammar_create; data is freed with free.
struct gi_schema_grammar {
    char *data; // not terminated
    size_t size;
};

// Says what stands around the JSON.
struct gi_schema_frame {
    const char *before, *after; // UTF-8; NULL: nothing
    uint32_t max_count;         // of all that, one behind another; 0: one
    const int32_t *token;       // the id of one that may stand for before; NULL: none
};

// The schema of any JSON object.
#define GI_JSON_OBJECT_SCHEMA "{\"type\":\"object\"}"

// Writes the grammar of a schema of size bytes, any bytes. Fails with INVALID_ARGUMENT (text that
// is not JSON, with its place; values that make no sense), UNSUPPORTED (the keyword and its path in
// the schema, such as "#/properties/a: 'not' is not supported"; nesting or size beyond bounds),
// NO_MEMORY.
bool gi_json_schema_grammar(const char *text, size_t size, struct gi_schema_grammar *grammar,
                            struct glinfer_error *err);
// Does the same for JSON in a frame.
bool gi_json_schema_grammar_framed(const char *text, size_t size,
                                   const struct gi_schema_frame *frame,
                                   struct gi_schema_grammar *grammar, struct glinfer_error *err);
// Writes gbnf and, behind it, rules json-1, json-2, ... for n schemas. The rules that they share
// have names of their own, which gbnf must not define: ws, value, string, v1 and others.
bool gi_json_schema_rules(const char *gbnf, const char *const *schemas, size_t n,
                          struct gi_schema_grammar *grammar, struct glinfer_error *err);

#endif
