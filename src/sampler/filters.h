// Filters: samplers that drop candidates and change no logit. All leave at least one. p is a
// candidate's share of exp(logit) among those that are left; min_keep: how many are kept at least,
// the first in the order of the filter.
#ifndef GI_SAMPLER_FILTERS_H
#define GI_SAMPLER_FILTERS_H

#include "sampler/candidates.h"

// Keeps the k with the largest logits. 0: all.
void gi_filter_top_k(struct gi_candidates *list, uint32_t k);
// Keeps the fewest of the likeliest whose p add up to top_p or more (Holtzman et al. 2020, nucleus
// sampling). >= 1: all.
void gi_filter_top_p(struct gi_candidates *list, float top_p, uint32_t min_keep);
// Keeps those with p >= min_p * the largest p (Nguyen et al. 2024). <= 0: all.
void gi_filter_min_p(struct gi_candidates *list, float min_p, uint32_t min_keep);
// Keeps the fewest of those with the smallest |-ln p - H| whose p add up to more than typical_p, H
// being the entropy -sum(p ln p) (Meister et al. 2022, locally typical sampling). >= 1: all.
void gi_filter_typical(struct gi_candidates *list, float typical_p, uint32_t min_keep);
// Keeps those with logit >= largest - n * sigma, sigma being the standard deviation of the logits
// (Tang et al. 2024, top-n-sigma). <= 0: all.
void gi_filter_top_n_sigma(struct gi_candidates *list, float n);
// Drops those with p >= threshold but the unlikeliest of them ("exclude top choices"), if that
// leaves min_keep. threshold > 0.5: none.
void gi_filter_xtc(struct gi_candidates *list, float threshold, uint32_t min_keep);

#endif
