// Checks that the functions of glinfer.h make of their arguments before anything else: pointers,
// enums, and structs that may grow, whose first field struct_size is the size that the caller
// knows. Refusals are INVALID_ARGUMENT and name the argument, and the function if it is of
// glinfer.h.
#pragma once

#include "base/error.h"

enum gi_argument_kind {
    GI_ARGUMENT_SET,
    GI_ARGUMENT_STRINGS,
    GI_ARGUMENT_ENUM,
    GI_ARGUMENT_STRUCT,
};

struct gi_argument {
    enum gi_argument_kind kind;
    const char *name;
    int64_t n;         // SET: 1 if it may be NULL; ENUM: its value; STRINGS: their number
    int64_t last;      // ENUM: its greatest value
    const void *value; // SET: the pointer; STRINGS: the array; STRUCT: the caller's, or NULL
    void *own;         // STRUCT: where to copy it, n bytes; NULL: it is not copied
};

// A pointer, which must not be NULL.
#define GI_SET(pointer) ((struct gi_argument){.name = #pointer, .value = (pointer)})
// A function, which must not be NULL.
#define GI_CALLBACK(function) ((struct gi_argument){.name = #function, .n = (function) != NULL})
// An array, which may be NULL if it has no elements.
#define GI_ARRAY(array, count)                                                                     \
    ((struct gi_argument){.name = #array, .n = (count) == 0, .value = (array)})
// An array of strings, none of which is NULL.
#define GI_STRINGS(array, count)                                                                   \
    ((struct gi_argument){GI_ARGUMENT_STRINGS, #array, (int64_t)(count), .value = (array)})
// One of an enum that begins with 0 and ends with `greatest`.
#define GI_ENUM(constant, greatest)                                                                \
    ((struct gi_argument){GI_ARGUMENT_ENUM, #constant, (int64_t)(constant), .last = (greatest)})
// A struct with a known struct_size, or NULL. GI_SIZED: one that is filled later. GI_COPY: one that
// is copied to *to, up to its struct_size; the rest of *to is kept.
#define GI_SIZED(out) ((struct gi_argument){GI_ARGUMENT_STRUCT, #out, .value = (out)})
#define GI_COPY(to, params)                                                                        \
    ((struct gi_argument){GI_ARGUMENT_STRUCT, #params, sizeof(*(to)), .value = (params),           \
                          .own = (to)})

// Checks arguments in order. All are evaluated first, so that members of a struct need a second
// call after the check of the struct.
#define GI_CHECK(err, ...)                                                                         \
    gi_check((err), __func__, (const struct gi_argument[]){__VA_ARGS__},                           \
             sizeof((const struct gi_argument[]){__VA_ARGS__}) / sizeof(struct gi_argument))
bool gi_check(struct glinfer_error *err, const char *function, const struct gi_argument *arguments,
              size_t n);

// False with INVALID_ARGUMENT if value, whose name is given, is not from least to most, or not a
// number. Bounds such as 0.99 are compared as floats, as callers have them.
bool gi_check_number(const char *name, double value, double least, double most,
                     struct glinfer_error *err);
// Copies full, which has size bytes, up to out->struct_size to out, whose struct_size does not
// change. Does nothing if out is NULL or its struct_size is unknown.
void gi_sized_give(void *out, const void *full, size_t size);
