// Growing an array that a struct of the tokenizer owns as {data, count, capacity}.
#ifndef GI_TOKENIZER_ARRAY_H
#define GI_TOKENIZER_ARRAY_H

#include "base/error.h"

// Makes room for needed elements of the given size, at least doubling what is there. Returns the
// array, moved or not, or NULL with NO_MEMORY; then the old one is as it was.
void *gi_array_grow(void *data, size_t *capacity, size_t needed, size_t element_size,
                    const char *what, struct glinfer_error *err);

// calloc that fails with NO_MEMORY and accepts a count of 0.
void *gi_array_zeroed(size_t count, size_t element_size, const char *what,
                      struct glinfer_error *err);

#endif
