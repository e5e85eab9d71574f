// The gated delta rule of linear attention: a matrix for each head in place of keys and values, so
// that a token costs the same wherever it stands (glsl/delta/delta.glsl has the formulas).
#ifndef GI_OPS_DELTA_H
#define GI_OPS_DELTA_H

#include "ops/embed/embed.h"
#include "ops/record/recorder.h"

// The projection of a layer and its vectors. Columns of a row: q (n_k_head, dim), k likewise, v
// (n_head, dim) from 0 on, the rest where it says. Vectors: offsets in floats.
struct gi_delta {
    uint32_t n_head, n_k_head, dim; // dim is a multiple of 16, n_head of n_k_head
    uint32_t n_neighbour; // heads of v side by side that have the same q and k: n_head / n_k_head,
                          // or 0: head h has those of head h % n_k_head
    uint32_t n_taps;      // tokens that the convolution sees
    uint32_t z, rate, decay;         // columns: (n_head, dim), (n_head), (n_head)
    uint32_t n_column;               // of a row
    uint32_t taps;                   // of vectors: (2 n_k_head dim + n_head dim, n_taps)
    uint32_t gamma;                  // (dim)
    uint32_t decay_bias, decay_rate; // (n_head)
    float eps;
};

// Columns of q, k and v.
uint32_t gi_delta_channels(const struct gi_delta *delta);
// Floats of a layer's state: a ring of n_taps rows of those, then the matrices, from
// gi_delta_matrix on.
uint32_t gi_delta_state_size(const struct gi_delta *delta);
uint32_t gi_delta_matrix(const struct gi_delta *delta);
// Columns of what gi_op_delta_conv leaves for gi_op_delta_scan.
uint32_t gi_delta_mixed_size(const struct gi_delta *delta);

// out (n_head, dim) = rmsnorm(o) gamma silu(z) of one token, whose projection's row is x; the
// layer's state becomes that behind the token, unless step_state is done. One dispatch.
void gi_op_delta_step(struct gi_recorder *recorder, const struct gi_delta *delta, struct gi_range x,
                      const struct gi_vectors *vectors, struct gi_range memory,
                      struct gi_range out);

// The same of a batch, in three dispatches: mixed takes gi_delta_mixed_size columns, o and out
// n_head * dim. out may be mixed.
void gi_op_delta_batch(struct gi_recorder *recorder, const struct gi_delta *delta,
                       const struct gi_rows *x, const struct gi_vectors *vectors,
                       struct gi_range memory, const struct gi_rows *mixed, const struct gi_rows *o,
                       const struct gi_rows *out);

#endif
