// For the tuner: where shapes are chosen. An op that records with a collector of sites notes each
// key that it chose a shape for, with what else could be chosen, and marks its dispatches with the
// site's number.
#ifndef GI_OPS_TUNING_SITE_H
#define GI_OPS_TUNING_SITE_H

#include "ops/record/tuning.h"

#include <stdbool.h>

#define GI_MAX_TUNING_SITES 64
#define GI_MAX_CANDIDATES   144

struct gi_tuning_site {
    struct gi_tuning_key key;
    char shape[GI_TUNING_SHAPE_SIZE]; // that the recording took
    uint32_t n_candidates;            // others, in the order in which to try them
    char candidates[GI_MAX_CANDIDATES][GI_TUNING_SHAPE_SIZE];
};

struct gi_tuning_sites {
    uint32_t count;
    struct gi_tuning_site sites[GI_MAX_TUNING_SITES];
};

// Returns the number of the key's site, counted from 1, or 0 where there is no room; *site is the
// site if it is new, so that the op adds candidates, else NULL.
uint32_t gi_tuning_note(struct gi_tuning_sites *sites, const struct gi_tuning_key *key,
                        const char *shape, struct gi_tuning_site **site);
// Adds a candidate, unless it is there or was taken; what there is no room for is left out.
void gi_tuning_offer(struct gi_tuning_site *site, const char *shape);

#endif
