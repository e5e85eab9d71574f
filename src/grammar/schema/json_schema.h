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
#ifndef GI_GRAMMAR_SCHEMA_JSON_SCHEMA_H
#define GI_GRAMMAR_SCHEMA_JSON_SCHEMA_H

#include "base/error.h"
#include "grammar/grammar.h"

#include <stddef.h>
#include <stdint.h>

// A grammar's text in GBNF, for gi_grammar_create; data is freed with free.
struct gi_schema_grammar {
    char *data; // not terminated
    size_t size;
    struct glinfer_error
        dead; // why the first schema in it that allows nothing does so, if one does
};

// The text around the JSON.
struct gi_schema_frame {
    const char *before, *after; // UTF-8; NULL: nothing
    uint32_t max_count;         // of such texts in a row; 0: one
    const int32_t *token;       // the id of one that may stand for before; NULL: none
};

// The schema of any JSON object.
#define GI_JSON_OBJECT_SCHEMA "{\"type\":\"object\"}"

// Writes the grammar of a schema of size bytes, any bytes. Fails with INVALID_ARGUMENT (text that
// is not JSON, with its place; a name twice in one object), UNSUPPORTED (the path in the schema and
// the reason, such as "#/properties/a/pattern: 'pattern', at byte 2: this escape is not supported";
// size beyond bounds), NO_MEMORY.
bool gi_json_schema_grammar(const char *text, size_t size, struct gi_schema_grammar *grammar,
                            struct glinfer_error *err);
// Does the same for JSON in a frame.
bool gi_json_schema_grammar_framed(const char *text, size_t size,
                                   const struct gi_schema_frame *frame,
                                   struct gi_schema_grammar *grammar, struct glinfer_error *err);
// Writes gbnf and, after it, rules json-1, json-2, ... for n schemas. The rules that they share
// have names of their own, which gbnf must not define: ws, value, string, v1 and others. If
// is_lenient, keywords that are not supported, and contradictions, are left out instead of refused.
bool gi_json_schema_rules(const char *gbnf, const char *const *schemas, size_t n, bool is_lenient,
                          struct gi_schema_grammar *grammar, struct glinfer_error *err);

// Reads a grammar that was written. Fails as gi_grammar_create does, and with UNSUPPORTED if
// nothing satisfies the schema: the path in the schema and the reason.
struct gi_grammar *gi_schema_grammar_create(const struct gi_schema_grammar *text,
                                            const struct gi_grammar_names *names,
                                            struct glinfer_error *err);

#endif
