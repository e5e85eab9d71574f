// The state of recurrent layers (glsl/delta, glsl/ssm): the ring of their causal convolution, whose
// row p % n_taps holds the projection's channels of position p, and matrices.
#pragma once

#include "reference/reference.h"

struct gi_ref_conv {
    uint32_t n_taps, n_channel;
    uint32_t x_stride, column; // of the rows of the projection: the first channel's column
    const float *x;            // (n_tokens, x_stride), from its first channel on
    const float **ring;        // (n_taps) rows (n_channel) before the dispatch; NULL: no input
    const float *taps;         // (n_channel, n_taps)
    const float *bias;         // (n_channel); NULL: zero
};

// Reads x from binding 1, taps (an offset) and bias (GI_REF_NONE: none) from binding 2, the ring
// from binding 3. Returns false with has_failed.
bool gi_ref_conv_init(struct gi_ref_conv *conv, struct gi_ref *ref, uint32_t taps, uint32_t bias);
// Works out silu of the convolved channels of token m into row (n_channel).
void gi_ref_convolve(const struct gi_ref *ref, const struct gi_ref_conv *conv, uint32_t m,
                     double *row);
// Expects the channels of the last tokens in the ring, at binding 3.
void gi_ref_expect_ring(struct gi_ref *ref, const struct gi_ref_conv *conv);
// Returns a matrix of n values from word `at` of binding 3, zero where the text begins; NULL with
// has_failed.
double *gi_ref_matrix(struct gi_ref *ref, uint64_t at, size_t n);
// Expects a matrix of n values from word `at` of binding 3. floor: magnitude of a value of zero.
void gi_ref_expect_matrix(struct gi_ref *ref, uint64_t at, const double *matrix, size_t n,
                          double floor);
