#include "sampler/breaker_set.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct gi_breaker_set {
    struct gi_breaker *breakers; // (n) by their first token
    uint32_t n;
    uint32_t *ids; // of all of them
};

static int compare_breakers(const void *left, const void *right)
{
    const struct gi_breaker *a = left, *b = right;
    return a->ids[0] < b->ids[0] ? -1 : a->ids[0] > b->ids[0];
}

static void copy_breakers(struct gi_breaker_set *set, const struct gi_breaker *breakers)
{
    uint32_t *ids = set->ids;
    for (uint32_t i = 0; i < set->n; i++) {
        memcpy(ids, breakers[i].ids, breakers[i].n_ids * sizeof(ids[0]));
        set->breakers[i] = (struct gi_breaker){ids, breakers[i].n_ids};
        ids += breakers[i].n_ids;
    }
    qsort(set->breakers, set->n, sizeof(set->breakers[0]), compare_breakers);
}

struct gi_breaker_set *gi_breaker_set_create(const struct gi_breaker *breakers, uint32_t n,
                                             struct glinfer_error *err)
{
    static const char what[] = "sequence breakers";
    struct gi_breaker_set *set = gi_array_zeroed(1, sizeof(*set), what, err);
    size_t n_ids = 0;
    for (uint32_t i = 0; i < n; i++) {
        n_ids += breakers[i].n_ids;
    }
    if (!set) {
        return NULL;
    }
    set->n = n;
    if (!GI_ARRAYS_ZEROED(what, err, GI_NEW(set->breakers, n), GI_NEW(set->ids, n_ids))) {
        gi_breaker_set_destroy(set);
        return NULL;
    }
    copy_breakers(set, breakers);
    return set;
}

void gi_breaker_set_destroy(struct gi_breaker_set *set)
{
    if (set) {
        free(set->breakers);
        free(set->ids);
        free(set);
    }
}

const struct gi_breaker *gi_breaker_set_find(const struct gi_breaker_set *set, uint32_t first,
                                             uint32_t *n)
{
    uint32_t low = 0, high = set->n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (set->breakers[middle].ids[0] < first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *n = 0;
    while (low + *n < set->n && set->breakers[low + *n].ids[0] == first) {
        ++*n;
    }
    return set->breakers + low;
}
