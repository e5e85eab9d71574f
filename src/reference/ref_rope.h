// q, k and v of a stacked projection: their norms and rotations.
#pragma once

#include "reference/places/ref_cache.h"

// Columns of q, of k or of v in a row of the projection, n elements in pair order, and their norm:
// over `width` of them, 0: none, with the weights gamma; NULL: all 1.
struct gi_ref_section {
    const float *gamma;
    uint32_t begin, n, width;
    double eps;
    bool is_last;      // gamma comes after the rotation
    bool is_layernorm; // gamma is of all n elements
};

// Computes n elements of a section from `first` on: row is a token's projection, rope the rotations
// of the first n_rot elements of a head.
void gi_ref_turn_section(const struct gi_ref_section *section, const float *row, uint32_t first,
                         uint32_t n, uint32_t head_dim, const float *rope, uint32_t n_rot,
                         struct gi_ref_value *out);
// Lists a token's heads of k or v.
void gi_ref_expect_kv(struct gi_ref *ref, const struct gi_ref_cache *cache,
                      const struct gi_ref_section *section, const float *row, const float *rope,
                      uint32_t n_rot, uint32_t position);
// Rotates a pair by its cosine and sine.
void gi_ref_turn(struct gi_ref_value pair[2], const float *rotation);
