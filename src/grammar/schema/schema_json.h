// The JSON of a schema, in which numbers keep their digits. Inner to src/grammar.
#pragma once

#include "base/error.h"

#include <cJSON.h>
#include <stddef.h>

// Reads a schema of size bytes, any bytes. Numbers have the type cJSON_Raw, whose valuestring is
// their text, and the valueint of each item is its place in the document, from 1 on. Fails with
// INVALID_ARGUMENT (not JSON, a name twice in one object) and NO_MEMORY. The caller deletes it.
cJSON *gi_schema_read(const char *text, size_t size, struct glinfer_error *err);

static inline bool gi_schema_is_number(const cJSON *value)
{
    return cJSON_IsRaw(value);
}

// Returns true if two values of JSON are equal: numbers by value, objects in any order.
bool gi_schema_is_equal(const cJSON *a, const cJSON *b);

// Writes the JSON pointer from root to an item within it, cut to size; nothing if it is not there.
void gi_schema_path(const cJSON *root, const cJSON *item, char *path, size_t size);
