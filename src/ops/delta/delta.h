// The gated delta rule of linear attention: a matrix for each head in place of keys and values, so
// that a token costs the same at every position (formulas: glsl/delta/delta.glsl).
#pragma once

#include "glsl/delta/delta_params.h"
#include "ops/embed/embed.h"
#include "ops/record/recorder.h"

// The projection of a layer and its vectors. A row begins with the columns q (n_k_head, dim), k
// (n_k_head, dim) and v (n_head, dim). Vectors: taps (2 n_k_head dim + n_head dim, n_taps), gamma
// (dim), decay_bias and decay_rate (n_head).
struct gi_delta {
    struct gi_delta_params params; // the ops set the strides and matrix
    uint32_t dim;                  // a multiple of 16; n_head is one of n_k_head
    uint32_t n_neighbour; // adjacent heads of v that share q and k: n_head / n_k_head; 0: head h
                          // uses q and k of head h % n_k_head
    uint32_t n_taps;      // tokens that the convolution sees
    uint32_t n_column;    // of a row
};

// Returns the columns of q, k and v together.
uint32_t gi_delta_channels(const struct gi_delta *delta);
// Returns the floats of a layer's state: a ring of n_taps rows of gi_delta_channels, then the
// matrices.
uint32_t gi_delta_state_size(const struct gi_delta *delta);
// Returns the columns that the convolution of a batch writes for the scan.
uint32_t gi_delta_mixed_size(const struct gi_delta *delta);

// out (n_head, dim) = rmsnorm(o) gamma silu(z) of one token, whose projection's row is x. Advances
// the layer's state by the token, unless step_state is done. One dispatch.
void gi_op_delta_step(struct gi_recorder *recorder, const struct gi_delta *delta, struct gi_range x,
                      const struct gi_vectors *vectors, struct gi_range memory,
                      struct gi_range out);

// Like gi_op_delta_step for a batch, in three dispatches. Scratch rows: mixed of
// gi_delta_mixed_size columns, o of n_head * dim, like out. out may be mixed.
void gi_op_delta_batch(struct gi_recorder *recorder, const struct gi_delta *delta,
                       const struct gi_rows *x, const struct gi_vectors *vectors,
                       struct gi_range memory, const struct gi_rows *mixed, const struct gi_rows *o,
                       const struct gi_rows *out);
