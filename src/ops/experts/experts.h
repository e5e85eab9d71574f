// A mixture of experts: of n_expert networks a token takes the n_used that its router finds
// likeliest. One form serves a decode step, whose token is alone, and a batch of a prompt.
#ifndef GI_OPS_EXPERTS_H
#define GI_OPS_EXPERTS_H

#include "ops/embed/embed.h"
#include "ops/record/activation.h"
#include "ops/record/recorder.h"
#include "ops/record/stream.h"
#include "ops/record/weight.h"

// A token's row of activations: n_used rows of act_width, then for each of them its expert and
// share, as { f32 expert, f32 share, 0, 0 }, at route. Widths in floats, multiples of 32.
struct gi_experts {
    uint32_t n_expert, n_used;
    uint32_t n_ff; // of an expert
    uint32_t act_width, route;
    uint32_t y_width; // of an expert's result
};

// The tokens that an op works on: the one token of a step, or the tokens of a batch.
enum gi_experts_tokens {
    GI_EXPERTS_STEP,
    GI_EXPERTS_BATCH,
};

// Chooses the n_used largest logits of each token, the lowest expert on ties; shares are their
// softmax.
//   logits (n_tokens, n_expert)      act  written from route on
bool gi_op_route(struct gi_recorder *recorder, const struct gi_experts *experts,
                 enum gi_experts_tokens tokens, const struct gi_rows *logits,
                 const struct gi_rows *act, struct glinfer_error *err);

// act = activation(g) * u of each chosen expert. With a stream the input is its norm, 1 / rms taken
// into account (a step); without, the rows of x.
//   W (n_expert * 2 * n_ff, n_embd) in the order of experts
bool gi_op_gemv_expert_glu(struct gi_recorder *recorder, const struct gi_experts *experts,
                           enum gi_activation activation, const struct gi_weight *weight,
                           const struct gi_stream *stream, const struct gi_rows *x,
                           const struct gi_rows *act, struct glinfer_error *err);

// y = W act of each chosen expert.
//   W (n_expert * n_embd, n_ff)      y (n_tokens, n_used, y_width)
bool gi_op_gemv_expert(struct gi_recorder *recorder, const struct gi_experts *experts,
                       enum gi_experts_tokens tokens, const struct gi_weight *weight,
                       const struct gi_rows *act, const struct gi_rows *y,
                       struct glinfer_error *err);

// residual += scale * sum of share * y; norm = residual * next_gamma; ssq. Sets stream->n_ssq.
bool gi_op_add_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                       const struct gi_rows *act, const struct gi_rows *y,
                       const struct gi_vectors *vectors, uint32_t next_gamma, float scale,
                       struct gi_stream *stream, struct glinfer_error *err);
// x += the same, for a batch of rows of n_embd.
bool gi_op_add_experts_batch(struct gi_recorder *recorder, const struct gi_experts *experts,
                             const struct gi_rows *act, const struct gi_rows *y, uint32_t n_embd,
                             float scale, const struct gi_rows *x, struct glinfer_error *err);

#endif
