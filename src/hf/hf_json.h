// JSON files of a folder, whole, as trees.
#pragma once

#include "base/error.h"

#include <cJSON.h>
#include <stdint.h>

enum { GI_HF_JSON_MAX_SIZE = 100 << 20 }; // bytes, as for headers of SafeTensors

// Parses text[0..size), which JSON's blanks may follow; path names it in messages. The caller ends
// the tree with cJSON_Delete. Fails with BAD_FILE (where the syntax is wrong), NO_MEMORY.
cJSON *gi_hf_json_parse(const char *text, size_t size, const char *path, struct glinfer_error *err);
// Reads and parses a file whose tree is of a type, cJSON_Object or cJSON_Array. Fails as
// gi_file_open does, with BAD_FILE (the syntax, the type, two values of a key, more than
// GI_HF_JSON_MAX_SIZE), NO_MEMORY.
cJSON *gi_hf_json_read(const char *path, int type, struct glinfer_error *err);
// Returns true if a folder lists the path, even as a link to a file that is missing, which an
// interrupted download leaves.
bool gi_hf_is_listed(const char *path);
// Returns folder/name, which the caller frees; NULL with NO_MEMORY.
char *gi_hf_path(const char *folder, const char *name, struct glinfer_error *err);
// Returns true if a text ends in `end`.
bool gi_hf_ends_in(const char *text, const char *end);
// Returns the text of a key of an object, "" without it or if it is not a text. object may be NULL.
const char *gi_hf_json_text(const cJSON *object, const char *key);
// Takes a whole number of 0 to 2^53. Returns false for anything else.
bool gi_hf_json_count(const cJSON *json, uint64_t *count);
