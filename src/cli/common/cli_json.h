// JSON that cJSON does not make by itself.
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "glinfer.h"

#include <cjson/cJSON.h>

// A string of UTF-8 that may hold zero bytes. NULL without memory.
cJSON *cli_json_text(const char *text, size_t size);
// An array of numbers. NULL without memory.
cJSON *cli_json_ids(const int32_t *ids, size_t n);
// Adds an integer up to 2^63, every digit of it.
void cli_json_add_u64(cJSON *object, const char *name, uint64_t value);
// Adds a float in the digits that it has.
bool cli_json_add_float(cJSON *object, const char *name, float value);
// Prints the object, or with NULL that there is no memory, deletes it and returns the exit status.
int cli_json_print(cJSON *object);

#endif
