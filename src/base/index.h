// A hash table of indices into an array of the caller, who compares the elements. Zero-initialised.
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct gi_index {
    struct gi_index_slot {
        uint32_t hash, number; // number: index + 1; 0: free
    } * slots;
    size_t n_slots; // a power of two, at most half of them used
    size_t count;
};

#define GI_INDEX_END UINT32_MAX

// Returns the next index that was added with a hash, GI_INDEX_END after the last. *step is 0 for
// the first one.
static inline uint32_t gi_index_next(const struct gi_index *index, uint32_t hash, uint32_t *step)
{
    while (index->n_slots > 0) {
        const struct gi_index_slot *slot = &index->slots[(hash + (*step)++) & (index->n_slots - 1)];
        if (slot->number == 0 || slot->hash == hash) {
            return slot->number - 1;
        }
    }
    return GI_INDEX_END;
}
// Adds an index. Fails with NO_MEMORY, for `what`.
bool gi_index_add(struct gi_index *index, uint32_t hash, uint32_t added, const char *what,
                  struct glinfer_error *err);
// Removes all indices and keeps the memory: as many can be added without a failure.
void gi_index_clear(struct gi_index *index);
void gi_index_finish(struct gi_index *index);
