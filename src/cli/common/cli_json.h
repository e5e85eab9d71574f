// Writes JSON that cJSON lacks: the fields of a struct, numbers with all their digits.
#pragma once

#include "cli/common/cli_memory.h"
#include "glinfer.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cli_json_kind {
    CLI_JSON_BOOL,
    CLI_JSON_U32,
    CLI_JSON_U64,
    CLI_JSON_DOUBLE,
    CLI_JSON_TEXT,  // const char *
    CLI_JSON_CHARS, // an array of char
};

// A field of a struct and its name in JSON.
struct cli_json_field {
    const char *name;
    enum cli_json_kind kind;
    size_t offset;
};

// Adds fields of *record to an object: CLI_JSON_ADD(object, stats, CLI_JSON(glinfer_stats, n_past),
// ...). A field is one of struct `type`, by its own name or another.
#define CLI_JSON_ADD(object, record, ...)                                                          \
    cli_json_add(object, record, (const struct cli_json_field[]){__VA_ARGS__},                     \
                 sizeof((const struct cli_json_field[]){__VA_ARGS__}) /                            \
                     sizeof(struct cli_json_field))
#define CLI_JSON(type, field) CLI_JSON_AS(#field, type, field)
// clang-format off
#define CLI_JSON_AS(name, type, field)                                                             \
    {name, CLI_JSON_KIND(((struct type *)0)->field), offsetof(struct type, field)}
#define CLI_JSON_KIND(value)                                                                       \
    _Generic((value), bool: CLI_JSON_BOOL, uint32_t: CLI_JSON_U32, uint64_t: CLI_JSON_U64,         \
             double: CLI_JSON_DOUBLE, const char *: CLI_JSON_TEXT, char *: CLI_JSON_CHARS)
// clang-format on
void cli_json_add(cJSON *object, const void *record, const struct cli_json_field *fields, size_t n);

// Returns a string of a text that may hold zero bytes; invalid UTF-8 becomes U+FFFD.
cJSON *cli_json_text(const char *text, size_t size);
// Returns an array of bytes, as numbers.
cJSON *cli_json_bytes(const char *bytes, size_t size);
// Returns an array of ids.
cJSON *cli_json_ids(const int32_t *ids, size_t n);
// Returns an array of floats, each with the digits that it needs.
cJSON *cli_json_floats(const float *values, size_t n);
// Adds an integer up to 2^63 with all its digits.
void cli_json_add_u64(cJSON *object, const char *name, uint64_t value);
// Adds a float with the digits that it needs.
void cli_json_add_float(cJSON *object, const char *name, float value);
// Adds an object "step_ns": times of a step by the names of the ways to dispatch that were timed.
void cli_json_add_steps(cJSON *object, const double step_ns[GLINFER_DISPATCH_WAYS]);
// Sets a member of an object, replacing one of that name; takes ownership of the value.
void cli_json_set(cJSON *object, const char *name, cJSON *value);
// Adds a member and takes ownership of the value; returns false if the name exists.
bool cli_json_add_first(cJSON *object, const char *name, cJSON *value);
// Appends the text of a value without white space; nothing for NULL.
void cli_append_json(struct cli_bytes *bytes, const cJSON *json);
// Appends an empty object to an array and returns it.
cJSON *cli_json_append(cJSON *array);

// Prints a value, flushes standard output and deletes the value. Returns false if the write fails.
bool cli_json_print(cJSON *value);
