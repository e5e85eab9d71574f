#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 16

void *gi_array_zeroed(size_t count, size_t element_size, const char *what,
                      struct glinfer_error *err)
{
    void *data = calloc(count ? count : 1, element_size);
    if (!data) {
        gi_error_no_memory(err, count * element_size, what);
    }
    return data;
}

bool gi_arrays_zeroed(const struct gi_new_array *arrays, size_t n, const char *what,
                      struct glinfer_error *err)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        void *data =
            ok ? gi_array_zeroed(arrays[i].count, arrays[i].element_size, what, err) : NULL;
        memcpy(arrays[i].place, &data, sizeof(data));
        ok = data;
    }
    for (size_t i = 0; !ok && i < n; i++) {
        void *data;
        memcpy(&data, arrays[i].place, sizeof(data));
        free(data);
        memset(arrays[i].place, 0, sizeof(data));
    }
    return ok;
}

bool gi_array_grow(void *data, size_t *capacity, size_t needed, size_t element_size,
                   const char *what, struct glinfer_error *err)
{
    void *array; // copied in and out: pointers to pointers of other types may not be dereferenced
    if (needed <= *capacity) {
        return true;
    }
    memcpy(&array, data, sizeof(array));
    size_t wanted = *capacity < SIZE_MAX / 2 ? *capacity * 2 : needed;
    wanted = wanted < needed ? needed : wanted;
    wanted = wanted < CAPACITY_MIN ? CAPACITY_MIN : wanted;
    array = wanted <= SIZE_MAX / element_size ? realloc(array, wanted * element_size) : NULL;
    if (!array) {
        return gi_error_no_memory(err, needed, what);
    }
    memcpy(data, &array, sizeof(array));
    *capacity = wanted;
    return true;
}
