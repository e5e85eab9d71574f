// Reads fields of a request's JSON. The first mistake is kept as a sentence; later readers do
// nothing. A field that is null counts as missing.
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct serve_fields {
    const cJSON *object; // borrowed
    bool is_wrong;
    unsigned status; // of HTTP, if it is wrong
    char message[512];
    size_t n_prompt; // tokens of a prompt that is longer than the context
    uint32_t n_ctx;  // tokens of the context; 0: another mistake
};

// Returns why size bytes of JSON cannot be read: they are not UTF-8, or have a zero character,
// which strings here end with. NULL if they can.
const char *serve_find_fault(const char *text, size_t size);

// Notes a mistake with its HTTP status. Returns false.
bool serve_fields_refuse(struct serve_fields *fields, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Refuses a prompt of n tokens that does not fit a context of n_ctx. Returns false.
bool serve_fields_overflow(struct serve_fields *fields, size_t n, uint32_t n_ctx);

// Notes that a field is invalid, and the value that was expected. Returns false.
bool serve_fields_expect(struct serve_fields *fields, const char *name, const char *expected);

// Returns a field, NULL if it is missing.
const cJSON *serve_fields_get(const struct serve_fields *fields, const char *name);
// Each reads a field into *value. Returns false with *value unchanged if it is missing or invalid.
bool serve_fields_bool(struct serve_fields *fields, const char *name, bool *value);
bool serve_fields_float(struct serve_fields *fields, const char *name, double low, double high,
                        float *value);
// Replaces a number out of range by the nearest in it.
bool serve_fields_clamped(struct serve_fields *fields, const char *name, double low, double high,
                          float *value);
bool serve_fields_int(struct serve_fields *fields, const char *name, int64_t low, int64_t high,
                      int64_t *value);
bool serve_fields_text(struct serve_fields *fields, const char *name, const char **value);
