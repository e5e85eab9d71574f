// Filters: samplers that drop candidates and change no logit. All leave at least one. p is a
// candidate's share of exp(logit) among those that are left; min_keep: how many are kept at least,
// the first in the order of the filter.
#pragma once

#include "sampler/candidates.h"
#include "sampler/sampler.h"

// Returns true if a sampler changes or drops any token.
bool gi_sampler_is_active(const struct gi_sampler_params *params, enum gi_sampler_kind kind);

// Keeps the k with the largest logits. 0: all.
void gi_filter_top_k(struct gi_candidates *list, uint32_t k);
// Applies a filter if it is active. Random numbers depend on the position.
void gi_filter_apply(struct gi_candidates *list, const struct gi_sampler_params *params,
                     enum gi_sampler_kind kind, uint32_t position);
