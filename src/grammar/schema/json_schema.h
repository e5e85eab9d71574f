// Turns a JSON schema into a grammar whose texts are JSON that the schema allows: draft 2020-12,
// and of older drafts lists of items, dependencies and boolean exclusive bounds.
//
// Keywords that only describe are ignored, and so are unknown ones, as JSON Schema has it. Refused
// by its path: an invalid schema; $ref out of the schema, or in a cycle without a value between; of
// patterns \\b, \\p, back references, and lookahead other than at the beginning; uniqueItems of
// objects and arrays; minProperties beyond the named properties and one; multipleOf of more than 4
// digits; contradictions of which the whole depends; sizes beyond bounds.
//
// A grammar may allow less than its schema. Properties come in the order of the schema; others only
// if the schema says something of them. Every item of prefixItems is written. Numbers with bounds
// have no exponent. Strings and lists end at 10,000. Strings of a pattern or format with a
// maxLength may end earlier, where the automaton of all would be too large. Unique items begin with
// characters of different groups, or come in order if they are many. Formats have the usual texts:
// those of hosts that are public names, of URIs http, https, file and urn. A multiple is one in
// decimal, not in binary. Of schemas in oneOf, those that do not exclude each other are kept apart
// where that can be told.
#pragma once

#include "base/error.h"
#include "grammar/grammar.h"

#include <stddef.h>
#include <stdint.h>

// The text around the JSON.
struct gi_schema_frame {
    const char *before, *after; // UTF-8; NULL: nothing
    uint32_t max_count;         // of such texts in a row; 0: one
    const int32_t *token;       // the id of one that may stand for before; NULL: none
};

// Builds the grammar of a schema of size bytes, any bytes; frame may be NULL. Fails with
// INVALID_ARGUMENT (text that is not JSON, with its place; a name twice in one object; a frame that
// is not UTF-8; more than 2^20 nodes), UNSUPPORTED (the path in the schema and the reason, such as
// "#/properties/a/pattern: 'pattern', at byte 2: this escape is not supported"; size beyond bounds;
// nothing satisfies the schema), NO_MEMORY. Freed with gi_grammar_destroy.
struct gi_grammar *gi_json_schema_create(const char *text, size_t size,
                                         const struct gi_schema_frame *frame,
                                         struct glinfer_error *err);
// Reads gbnf, which may call rules json-1, json-2, ... of n schemas, and those that all schemas
// share (ws, value, string and others), but not define them. If
// is_lenient, keywords that are not supported, and contradictions, are left out instead of refused.
// Fails as gi_json_schema_create does, and with INVALID_ARGUMENT (line and column, and what is
// wrong there: syntax, a rule without a definition, no `root`, a rule that begins with itself,
// nesting deeper than 100, a repetition of more than 10,000, a text or grammar that is too large),
// UNSUPPORTED (tokens without names).
struct gi_grammar *gi_json_schema_rules(const char *gbnf, const char *const *schemas, size_t n,
                                        bool is_lenient, const struct gi_grammar_names *names,
                                        struct glinfer_error *err);
