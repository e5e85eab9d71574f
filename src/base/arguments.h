// Checks that the functions of glinfer.h make of their arguments before anything else: pointers,
// enums, and structs that may grow, of which struct_size in front tells how much the caller knows.
// Refusals are INVALID_ARGUMENT and name the argument, and the function if it is of glinfer.h.
#ifndef GI_BASE_ARGUMENTS_H
#define GI_BASE_ARGUMENTS_H

#include "base/error.h"

// False with INVALID_ARGUMENT if the argument is NULL.
#define GI_CHECK_SET(argument, err) gi_check_set((argument), #argument, __func__, (err))
// False with INVALID_ARGUMENT if an array of n elements is NULL although n is not 0.
#define GI_CHECK_ARRAY(argument, n, err)                                                           \
    gi_check_set((n) ? (argument) : (const void *)"", #argument, __func__, (err))
// False with INVALID_ARGUMENT if value is not one of an enum that begins with 0 and ends with last.
#define GI_CHECK_ENUM(value, last, err)                                                            \
    gi_check_enum((int64_t)(value), (last), #value, __func__, (err))
// False with INVALID_ARGUMENT if value, whose name is given, is not from least to most, or not a
// number. Bounds such as 0.99 are compared as floats, as callers have them.
bool gi_check_number(const char *name, double value, double least, double most,
                     struct glinfer_error *err);
// Copies params, which may be NULL, up to its struct_size to *own, whose rest is kept. Fails with
// INVALID_ARGUMENT if params->struct_size is unknown.
#define GI_TAKE(own, params, err)                                                                  \
    gi_sized_take((own), sizeof(*(own)), (params), #params, __func__, (err))
// Fails with INVALID_ARGUMENT if out, a struct to be filled, has an unknown struct_size.
#define GI_CHECK_SIZED(out, err) gi_sized_check((out), #out, __func__, (err))

bool gi_check_set(const void *argument, const char *name, const char *function,
                  struct glinfer_error *err);
bool gi_check_enum(int64_t value, int64_t last, const char *name, const char *function,
                   struct glinfer_error *err);
bool gi_sized_check(const void *sized, const char *name, const char *function,
                    struct glinfer_error *err);
bool gi_sized_take(void *own, size_t size, const void *params, const char *name,
                   const char *function, struct glinfer_error *err);
// Copies full, which has size bytes, up to out->struct_size to out, whose struct_size does not
// change. Does nothing if out is NULL or its struct_size is unknown.
void gi_sized_give(void *out, const void *full, size_t size);

#endif
