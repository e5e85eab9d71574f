// Collects tuning sites for the tuner: an op notes each key that it chooses a shape for, with the
// candidates that it could choose instead, and marks its dispatches with the site's number.
#pragma once

#include "ops/record/tuning.h"

#include <stdbool.h>

#define GI_MAX_TUNING_SITES 64
#define GI_MAX_CANDIDATES   144

struct gi_tuning_site {
    struct gi_tuning_key key;
    char shape[GI_TUNING_SHAPE_SIZE]; // the shape that the recording uses
    uint32_t n_candidates;            // other shapes, in the order in which to try them
    char candidates[GI_MAX_CANDIDATES][GI_TUNING_SHAPE_SIZE];
};

struct gi_tuning_sites {
    uint32_t count;
    struct gi_tuning_site sites[GI_MAX_TUNING_SITES];
};

// Returns the number of the key's site, counted from 1, or 0 if there is no room. Sets *site to the
// site if it is new, so that the op adds candidates, else to NULL.
uint32_t gi_tuning_note(struct gi_tuning_sites *sites, const struct gi_tuning_key *key,
                        const char *shape, struct gi_tuning_site **site);
// Adds a candidate, unless it is listed or is the chosen shape; without room for it does nothing.
void gi_tuning_offer(struct gi_tuning_site *site, const char *shape);
