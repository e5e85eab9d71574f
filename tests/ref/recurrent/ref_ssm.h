// Mamba-2 in double, token after token, from its formulas (glsl/ssm/ssm.glsl).
#ifndef REF_SSM_H
#define REF_SSM_H

#include <stddef.h>

struct ref_ssm {
    size_t n_tokens, n_head, dim, n_group, state_dim, n_taps;
    size_t n_channel, n_column; // of x, b and c; of a row of x
    size_t channels, dt;        // columns of x; z is at 0
    const float *x;             // (n_tokens, n_column)
    const float *past;          // (n_taps - 1, n_channel), the row before the first one first
    const float *taps;          // (n_channel, n_taps)
    const float *taps_bias;     // (n_channel)
    const float *dt_bias, *decay_rate, *skip; // (n_head)
};

// out (n_tokens, n_head, dim); matrix (n_head, state_dim, dim) becomes that behind the tokens.
// magnitude (n_tokens, n_head, dim): the sum of what is added up for a result, without signs.
void ref_ssm(const struct ref_ssm *ssm, double *matrix, double *out, double *magnitude);

// y (n_tokens, n_group, width) becomes its norm over width, times gamma (n_group, width).
void ref_ssm_norm(size_t n_tokens, size_t n_group, size_t width, const float *gamma, double eps,
                  double *y);

#endif
