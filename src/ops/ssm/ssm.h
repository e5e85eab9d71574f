// Mamba-2's state space model: a matrix for each head in place of keys and values, so that a token
// costs the same at every position (formulas: glsl/ssm/ssm.glsl).
#pragma once

#include "glsl/ssm/ssm_params.h"
#include "ops/embed/embed.h"
#include "ops/record/recorder.h"

// The projection of a layer and its vectors. A row begins with the gate z (n_head, dim). Vectors:
// taps (gi_ssm_channels, n_taps), taps_bias (gi_ssm_channels), dt_bias, decay_rate and skip
// (n_head), at multiples of 4 except those of heads.
struct gi_ssm {
    struct gi_ssm_params params; // the ops set n_channel, matrix and the strides
    uint32_t dim, state_dim;     // multiples of 16 and 32; n_head is one of n_group
    uint32_t n_taps;             // tokens that the convolution sees
    uint32_t n_column;           // of a row
};

// Returns the columns of x, b and c together.
uint32_t gi_ssm_channels(const struct gi_ssm *ssm);
// Returns the floats of a layer's state: a ring of n_taps rows of gi_ssm_channels, then the
// matrices.
uint32_t gi_ssm_state_size(const struct gi_ssm *ssm);
// Returns the columns that the convolution of a batch writes for the scan.
uint32_t gi_ssm_mixed_size(const struct gi_ssm *ssm);

// out (n_head, dim) = y silu(z) of one token, whose projection's row is x. Advances the layer's
// state by the token, unless step_state is done. One dispatch.
void gi_op_ssm_step(struct gi_recorder *recorder, const struct gi_ssm *ssm, struct gi_range x,
                    const struct gi_vectors *vectors, struct gi_range memory, struct gi_range out);

// Like gi_op_ssm_step for a batch, in two dispatches. mixed: scratch of gi_ssm_mixed_size columns.
void gi_op_ssm_batch(struct gi_recorder *recorder, const struct gi_ssm *ssm,
                     const struct gi_rows *x, const struct gi_vectors *vectors,
                     struct gi_range memory, const struct gi_rows *mixed,
                     const struct gi_rows *out);

// y = rmsnorm of each of n_group parts of a row of n_group * width, a multiple of 4, for the rows
// of a batch or the only row of a step. gamma: offset in vectors, (n_group, width). One dispatch.
void gi_op_ssm_norm(struct gi_recorder *recorder, bool is_batch, uint32_t n_group, uint32_t width,
                    const struct gi_vectors *vectors, uint32_t gamma, float eps,
                    const struct gi_rows *y);
