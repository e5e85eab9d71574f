// Records the start of a list: embeddings of token ids become the residual stream. Also moves a
// prompt's last row into the decode stream.
#pragma once

#include "ops/record/recorder.h"
#include "ops/record/stream.h"
#include "ops/record/weight.h"

// Small f32 vectors of a model in one storage range: norm weights and the table of rotations
// (n_ctx, n_rot) of cos, sin pairs. Offsets in floats, multiples of 4.
struct gi_vectors {
    struct gi_range range;
    uint32_t rope; // offset of the table; a row is n_rot floats
};

// A table of rotations among the vectors, and the number of elements of a head to rotate.
struct gi_rope {
    uint32_t table; // offset in floats
    uint32_t n_rot;
    bool is_before_norm; // norms of heads, if any, come after the rotation
    // q is multiplied by 1 + temperature * log(1 + floor(position / period)); 0: it is not scaled
    float temperature;
    uint32_t period;
};

// residual = scale * W[step_state.token]; norm = residual * gamma, gamma n_embd floats at
// gamma_offset of vectors; ssq; rope = the table's row step_state.n_past. Sets stream->n_ssq. W may
// have several parts.
void gi_op_embed_token(struct gi_recorder *recorder, const struct gi_weight *weight,
                       const struct gi_vectors *vectors, uint32_t gamma_offset, float scale,
                       struct gi_stream *stream);

// x[m] = scale * W[tokens[m]] for m < step_state.n_tokens; tokens is n_tokens uints. In a joint
// list row m is the embedding of slot m's token, and tokens is ignored.
void gi_op_embed_batch(struct gi_recorder *recorder, const struct gi_weight *weight,
                       struct gi_range tokens, float scale, const struct gi_rows *x);

// x[m] += row step_state.n_past + m of a table (n_ctx, width) of the vectors, its offset in floats.
// x is the rows of a batch, or the only row of a step. In a joint list row m is of slot m, with the
// slot's own n_past.
void gi_op_add_positions(struct gi_recorder *recorder, const struct gi_vectors *vectors,
                         uint32_t table, uint32_t width, const struct gi_rows *x, bool is_batch);

// residual = x[step_state.n_tokens - 1], norm = residual * gamma, ssq = its sums of squares: the
// input of gi_op_gemv_vocab.
void gi_op_last_row(struct gi_recorder *recorder, const struct gi_rows *x,
                    const struct gi_vectors *vectors, uint32_t gamma_offset,
                    struct gi_stream *stream);
