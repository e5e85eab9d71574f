// The gated delta rule in double, token after token, from its formulas (glsl/delta/delta.glsl).
#ifndef REF_DELTA_H
#define REF_DELTA_H

#include <stdbool.h>
#include <stddef.h>

struct ref_delta {
    size_t n_tokens, n_head, n_k_head, dim, n_taps;
    size_t n_neighbour; // heads side by side with the same q and k; 0: head h has those of h %
                        // n_k_head
    size_t n_channel, n_column; // of q, k and v; of a row of x
    size_t z, rate, decay;      // columns of x
    const float *x;             // (n_tokens, n_column)
    const float *past;          // (n_taps - 1, n_channel), the row before the first one first
    const float *taps;          // (n_channel, n_taps)
    const float *gamma;         // (dim)
    const float *decay_bias, *decay_rate; // (n_head)
    double eps;
};

// out (n_tokens, n_head, dim); matrix (n_head, dim, dim) becomes that behind the tokens. magnitude:
// what an error of a unit of the normed result is multiplied with.
void ref_delta(const struct ref_delta *delta, double *matrix, double *out, double *magnitude);

#endif
