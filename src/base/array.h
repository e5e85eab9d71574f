// Memory that fails with NO_MEMORY, and arrays that grow: structs with data, count and capacity,
// zero-initialised by their owner, who frees data.
#pragma once

#include "base/error.h"

// calloc that fails with NO_MEMORY and accepts a count of 0.
void *gi_array_zeroed(size_t count, size_t element_size, const char *what,
                      struct glinfer_error *err);

// Allocates arrays of zeros, each given as GI_NEW(pointer, elements). Fails with NO_MEMORY: all
// pointers are NULL then.
#define GI_NEW(pointer, n) ((struct gi_new_array){&(pointer), (n), sizeof(*(pointer))})
#define GI_ARRAYS_ZEROED(what, err, ...)                                                           \
    gi_arrays_zeroed((const struct gi_new_array[]){__VA_ARGS__},                                   \
                     sizeof((const struct gi_new_array[]){__VA_ARGS__}) /                          \
                         sizeof(struct gi_new_array),                                              \
                     what, err)
struct gi_new_array {
    void *place; // of the pointer
    size_t count, element_size;
};
bool gi_arrays_zeroed(const struct gi_new_array *arrays, size_t n, const char *what,
                      struct glinfer_error *err);

// Makes room for needed elements, at least doubling what is there. data points to the pointer to
// the array. Fails with NO_MEMORY; the array is then as it was.
bool gi_array_grow(void *data, size_t *capacity, size_t needed, size_t element_size,
                   const char *what, struct glinfer_error *err);

#define GI_ARRAY_RESERVE(array, needed, what, err)                                                 \
    gi_array_grow(&(array)->data, &(array)->capacity, needed, sizeof(*(array)->data), what, err)

// Appends an element; false with NO_MEMORY.
#define GI_ARRAY_PUSH(array, what, err, ...)                                                       \
    (GI_ARRAY_RESERVE(array, (array)->count + 1, what, err) &&                                     \
     ((array)->data[(array)->count++] = (__VA_ARGS__), true))
