#include "base/index.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static void insert(struct gi_index *index, struct gi_index_slot added)
{
    size_t at = added.hash & (index->n_slots - 1);
    while (index->slots[at].number > 0) {
        at = (at + 1) & (index->n_slots - 1);
    }
    index->slots[at] = added;
}

bool gi_index_add(struct gi_index *index, uint32_t hash, uint32_t added, const char *what,
                  struct glinfer_error *err)
{
    if ((index->count + 1) * 2 > index->n_slots) {
        const struct gi_index old = *index;
        const size_t n_slots = old.n_slots ? old.n_slots * 2 : 64;
        struct gi_index_slot *slots = gi_array_zeroed(n_slots, sizeof(*slots), what, err);
        if (!slots) {
            return false;
        }
        index->slots = slots;
        index->n_slots = n_slots;
        for (size_t i = 0; i < old.n_slots; i++) {
            if (old.slots[i].number > 0) {
                insert(index, old.slots[i]);
            }
        }
        free(old.slots);
    }
    insert(index, (struct gi_index_slot){hash, added + 1});
    index->count++;
    return true;
}

void gi_index_clear(struct gi_index *index)
{
    if (index->n_slots > 0) {
        memset(index->slots, 0, index->n_slots * sizeof(*index->slots));
    }
    index->count = 0;
}

void gi_index_finish(struct gi_index *index)
{
    free(index->slots);
    memset(index, 0, sizeof(*index));
}
