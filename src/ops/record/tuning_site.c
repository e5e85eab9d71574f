#include "ops/record/tuning_site.h"

#include <stdio.h>
#include <string.h>

uint32_t gi_tuning_note(struct gi_tuning_sites *sites, const struct gi_tuning_key *key,
                        const char *shape, struct gi_tuning_site **site)
{
    *site = NULL;
    for (uint32_t i = 0; i < sites->count; i++) {
        if (gi_tuning_is_same_key(&sites->sites[i].key, key)) {
            return i + 1;
        }
    }
    if (sites->count == GI_MAX_TUNING_SITES) {
        return 0;
    }
    *site = &sites->sites[sites->count++];
    (*site)->key = *key;
    (*site)->n_candidates = 0;
    snprintf((*site)->shape, sizeof((*site)->shape), "%s", shape);
    return sites->count;
}

void gi_tuning_offer(struct gi_tuning_site *site, const char *shape)
{
    bool is_known = strcmp(shape, site->shape) == 0;
    for (uint32_t i = 0; i < site->n_candidates && !is_known; i++) {
        is_known = strcmp(shape, site->candidates[i]) == 0;
    }
    if (!is_known && site->n_candidates < GI_MAX_CANDIDATES) {
        char *candidate = site->candidates[site->n_candidates++];
        snprintf(candidate, GI_TUNING_SHAPE_SIZE, "%s", shape);
    }
}
