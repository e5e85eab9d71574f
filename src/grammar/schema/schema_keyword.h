// The keywords of schemas: one table that says of each which form its value has, which types of
// values it concerns, where schemas are within it, and what it takes to break it. Inner to
// src/grammar.
#pragma once

#include "grammar/schema/schema_compiler.h"

// Types of values, as bits.
enum {
    GI_IS_STRING = 1,
    GI_IS_WHOLE = 2,  // a number that is whole
    GI_IS_BROKEN = 4, // any other number
    GI_IS_OBJECT = 8,
    GI_IS_ARRAY = 16,
    GI_IS_BOOLEAN = 32,
    GI_IS_NULL = 64,
    GI_IS_NUMBER = GI_IS_WHOLE | GI_IS_BROKEN,
    GI_IS_ANY = 127,
};

enum gi_form {
    GI_FORM_ANY, // checked where it is read, if at all
    GI_FORM_SCHEMA,
    GI_FORM_SCHEMAS, // a list of at least one
    GI_FORM_MAP,     // an object, whose members may be schemas
    GI_FORM_NAMES,
    GI_FORM_LIST, // of schemas that are checked where they are read
    GI_FORM_VALUES,
    GI_FORM_NUMBER,
    GI_FORM_STRING,
    GI_FORM_TYPE,
    GI_FORM_BOOL,
    GI_FORM_ITEMS, // a schema, or a list of them in older schemas
};

enum gi_negation {
    GI_NEGATION_NONE,     // a schema that does not hold is not one where this keyword fails
    GI_NEGATION_NOTE,     // it only describes: nothing breaks it
    GI_NEGATION_DIRECT,   // a condition GI_BREAKS
    GI_NEGATION_EXPANDED, // comes to conditions on other schemas
    GI_NEGATION_PARTIAL,  // not expressed: more is allowed than the cases say
};

struct gi_keyword {
    const char *name;
    enum gi_form form;
    int types; // of the values that it asks something of; 0: it says nothing of types
    enum gi_negation negation;
};

// Returns a keyword; NULL if it is not known. Accepts NULL.
const struct gi_keyword *gi_schema_keyword(const char *name);

// Returns the value of a keyword; NULL if the schema lacks it, is not an object, or is NULL.
const cJSON *gi_schema_get(const cJSON *schema, const char *keyword);
// Returns the value of a keyword that has its form; NULL if the schema lacks it. Refuses it
// otherwise.
const cJSON *gi_schema_use(struct gi_schema_compiler *c, const cJSON *schema, const char *keyword);
// Returns a count, `absent` if item is NULL. Refuses what is not a whole number from 0 on.
uint32_t gi_schema_count(struct gi_schema_compiler *c, const cJSON *item, uint32_t absent);
// Returns the types of a `type`.
int gi_schema_types_of(struct gi_schema_compiler *c, const cJSON *type);

// True for an object, true or false.
bool gi_schema_is_schema(const cJSON *item);
// True for schemas that allow everything.
bool gi_schema_is_any(const cJSON *schema);
