// Candidates: the tokens that samplers have left, with their logits. The list owns its memory,
// which is allocated once for a vocabulary. Samplers shorten the list or change its logits; it is
// sorted only as far as one of them asks. Candidates are ordered by logit, the largest first, and
// by id, the lowest first, where logits are equal.
#pragma once

#include "base/error.h"

struct gi_candidate {
    uint32_t id;
    float logit;  // finite
    float weight; // scratch of a sampler; exp(logit - largest) after gi_candidates_weigh
};

struct gi_candidates {
    struct gi_candidate *data; // (capacity)
    uint32_t count, capacity;
    uint32_t n_sorted; // the first of all in order, at least
    uint32_t *bins;    // scratch of sorting
};

// Allocates a list for a vocabulary. Fails with NO_MEMORY.
bool gi_candidates_init(struct gi_candidates *list, uint32_t n_vocab, struct glinfer_error *err);
// Accepts all-zero.
void gi_candidates_finish(struct gi_candidates *list);

// Fills the list with the tokens of logits[0..n), n at most the capacity. Leaves out those whose
// logit is -INFINITY or not a number, and those whose bit of allowed is 0 (bit id % 32 of word
// id / 32); allowed may be NULL.
void gi_candidates_fill(struct gi_candidates *list, const float *logits, uint32_t n,
                        const uint32_t *allowed);
// Returns x, or the nearest number whose differences to others like it are finite.
float gi_candidates_bound(double x);

// Brings the first k, at most count, to the front in order.
void gi_candidates_sort(struct gi_candidates *list, uint32_t k);
// Brings the k candidates with the largest weights to the front in order of weights, the first
// n_done of which are there; logits are then no longer in order.
void gi_candidates_sort_by_weight(struct gi_candidates *list, uint32_t n_done, uint32_t k);
// Sets *n to the next length to which a list that is sorted as far as *n may be sorted.
void gi_candidates_grow(const struct gi_candidates *list, uint32_t *n);
// Returns the largest logit of a list that is not empty.
float gi_candidates_largest(const struct gi_candidates *list);
// Sets all weights to exp(logit - largest) and returns their sum.
double gi_candidates_weigh(struct gi_candidates *list);

// Drops all but the first k as they lie.
void gi_candidates_keep(struct gi_candidates *list, uint32_t k);
// Drops those with a logit below least, and keeps at least min_keep of the first.
void gi_candidates_keep_above(struct gi_candidates *list, float least, uint32_t min_keep);
