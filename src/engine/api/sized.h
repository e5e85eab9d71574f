// Structs of the API that may grow begin with struct_size: what of them the caller knows.
#ifndef GI_ENGINE_SIZED_H
#define GI_ENGINE_SIZED_H

#include <stddef.h>
#include <string.h>

static inline size_t gi_sized_known(const void *sized, size_t size)
{
    size_t known;
    memcpy(&known, sized, sizeof(known));
    return known < size ? known : size;
}

// Copies what the caller knows of params, which may be NULL, to own: size bytes, zero before.
static inline void gi_sized_take(void *own, size_t size, const void *params)
{
    if (params) {
        memcpy(own, params, gi_sized_known(params, size));
    }
}

// Copies what the caller knows of full, size bytes, to out, whose struct_size stays.
static inline void gi_sized_give(void *out, const void *full, size_t size)
{
    const size_t known = gi_sized_known(out, size), first = sizeof(size_t);
    if (known > first) {
        memcpy((char *)out + first, (const char *)full + first, known - first);
    }
}

#endif
