#include "tokenizer/array.h"

#include <stdint.h>
#include <stdlib.h>

#define CAPACITY_MIN 16

void *gi_array_grow(void *data, size_t *capacity, size_t needed, size_t element_size,
                    const char *what, struct glinfer_error *err)
{
    if (needed <= *capacity && data) {
        return data;
    }
    size_t wanted = *capacity < SIZE_MAX / 2 ? *capacity * 2 : needed;
    if (wanted < needed) {
        wanted = needed;
    }
    if (wanted < CAPACITY_MIN) {
        wanted = CAPACITY_MIN;
    }
    void *grown = wanted <= SIZE_MAX / element_size ? realloc(data, wanted * element_size) : NULL;
    if (!grown) {
        gi_error_no_memory(err, needed, what);
        return NULL;
    }
    *capacity = wanted;
    return grown;
}

void *gi_array_zeroed(size_t count, size_t element_size, const char *what,
                      struct glinfer_error *err)
{
    void *data = calloc(count ? count : 1, element_size);
    if (!data) {
        gi_error_no_memory(err, count * element_size, what);
    }
    return data;
}
