// JSON that is read. cJSON keeps a number as a double; here it keeps the digits that it was written
// with: a number is a cJSON_Raw whose valuestring has its text and whose valuedouble its value. So
// cJSON prints it as it came, and cJSON_IsNumber is false: ask cli_json_is_number.
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Returns the value that size bytes of text begin with, after white space; the caller deletes it.
// Sets *end to the byte after it. Of members with one name the last counts. NULL with *end at the
// error if the text is not JSON.
cJSON *cli_json_parse(const char *text, size_t size, const char **end);
// Returns the value of a text that holds nothing else but white space; NULL if it is invalid. end:
// as above, or NULL.
cJSON *cli_json_parse_all(const char *text, size_t size, const char **end);

// Returns a member of an object; NULL if it is missing, or the item is not an object.
static inline cJSON *cli_json_get(const cJSON *item, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(item, name);
}
// Returns the text of a member; NULL if it is missing or not a string.
static inline const char *cli_json_get_text(const cJSON *item, const char *name)
{
    return cJSON_GetStringValue(cli_json_get(item, name));
}

// Returns true for a number, read or made.
bool cli_json_is_number(const cJSON *item);
// Sets *value to a whole number within 64 bits; false if the item is something else.
bool cli_json_int(const cJSON *item, int64_t *value);
