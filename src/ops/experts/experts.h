// A mixture of experts: of n_expert networks a token takes n_used, the last n_shared always, and
// those of the others that its router finds likeliest. One form serves a decode step, whose token
// is alone, and a batch of a prompt.
#ifndef GI_OPS_EXPERTS_H
#define GI_OPS_EXPERTS_H

#include "ops/embed/embed.h"
#include "ops/experts/router_rule.h"
#include "ops/record/activation.h"
#include "ops/record/recorder.h"
#include "ops/record/stream.h"
#include "ops/record/weight.h"

// Floats of a route: { expert, share, place in what is written of sorted rows, row of those }.
#define GI_ROUTE_FLOATS 4

// A token's row of activations: n_used rows of act_width, then for each of them its expert and
// share, as { f32 expert, f32 share, 0, 0 }, at route. Widths in floats, multiples of 32.
struct gi_experts {
    uint32_t n_expert, n_used;
    uint32_t n_shared; // among them
    uint32_t n_ff;     // of an expert
    uint32_t act_width, route;
    uint32_t y_width; // of an expert's result
    struct gi_router_rule router;
};

// The rows of a batch sorted by expert, so that each expert's weights are read once for all its
// tokens: a row for each token and expert that it takes. All lie in one range, at offsets in
// floats, multiples of 64. In f16 (ops/gemm/half_rows.h) each expert's rows of input and act begin
// at multiples of four; those of its results always follow the ones of the expert before.
struct gi_sorted_rows {
    struct gi_range range;
    uint32_t input;       // (n, y_width): what experts read
    uint32_t act;         // (n, act_width)
    uint32_t tiles;       // runs of rows of one expert, as glsl/experts/sort_experts.comp has them
    uint32_t route;       // (n_tokens, n_used) of { expert, share, place, row }
    uint32_t n;           // n_tokens * n_used
    uint32_t tile_tokens; // rows of a run at most
    bool is_half;
};

// Floats that a token takes in the range of sorted rows.
uint32_t gi_sorted_width(const struct gi_experts *experts);
// Lays out sorted rows of at most n_tokens in a range of n_tokens * gi_sorted_width floats, in f16
// where products take it and the range has room for that. Returns false where sorting does not pay,
// an expert having hardly more than a row.
bool gi_sorted_rows_init(struct gi_sorted_rows *rows, const struct gi_recorder *recorder,
                         const struct gi_experts *experts, struct gi_range range,
                         uint32_t n_tokens);

// Returns the range of the input, act or route of sorted rows, which begins at `begin`.
struct gi_range gi_sorted_part(const struct gi_sorted_rows *rows, uint32_t begin);

// The tokens that an op works on: the one token of a step, or the tokens of a batch.
enum gi_experts_tokens {
    GI_EXPERTS_STEP,
    GI_EXPERTS_BATCH,
};

// Returns the logits of a router, in whose last tile a gate of shared experts comes first.
uint32_t gi_router_rows(const struct gi_experts *experts);
// Chooses the largest logits of each token, the lowest expert on ties, and their shares; shared
// experts follow.
//   bias   a float of the vectors for each logit of an expert, with has_bias
//   logits (n_tokens, gi_router_rows)      act  written from route on
void gi_op_route(struct gi_recorder *recorder, const struct gi_experts *experts,
                 enum gi_experts_tokens tokens, const struct gi_rows *logits,
                 const struct gi_vectors *vectors, uint32_t bias, const struct gi_rows *act);

// act = activation(g) * u of each chosen expert. With a stream the input is its norm, 1 / rms taken
// into account (a step); without, the rows of x.
//   W (n_expert * 2 * n_ff, n_embd) in the order of experts
void gi_op_gemv_expert_glu(struct gi_recorder *recorder, const struct gi_experts *experts,
                           enum gi_activation activation, const struct gi_weight *weight,
                           const struct gi_stream *stream, const struct gi_rows *x,
                           const struct gi_rows *act);

// y = W act of each chosen expert.
//   W (n_expert * n_embd, n_ff)      y (n_tokens, n_used, y_width)
void gi_op_gemv_expert(struct gi_recorder *recorder, const struct gi_experts *experts,
                       enum gi_experts_tokens tokens, const struct gi_weight *weight,
                       const struct gi_rows *act, const struct gi_rows *y);

// residual += scale * sum of share * y; norm = residual * next_gamma; ssq. Sets stream->n_ssq.
void gi_op_add_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                       const struct gi_rows *act, const struct gi_rows *y,
                       const struct gi_vectors *vectors, uint32_t next_gamma, float scale,
                       struct gi_stream *stream);
// x += the same, for a batch of rows of n_embd.
void gi_op_add_experts_batch(struct gi_recorder *recorder, const struct gi_experts *experts,
                             const struct gi_rows *act, const struct gi_rows *y, uint32_t n_embd,
                             float scale, const struct gi_rows *x);

// Returns the rows that a group of gi_op_gemm_experts owns of n rows of n_expert experts.
// (ops/gemm/gemm.c)
uint32_t gi_experts_tile(const struct gi_gpu *gpu, uint32_t n, uint32_t n_expert, bool is_half);

// True if products with experts are faster in f16, as far as those are wanted. (ops/gemm/gemm.c)
bool gi_experts_take_half(const struct gi_recorder *recorder, uint32_t n, uint32_t n_expert);

// Sorted rows, in the order in which a batch records them.
// Chooses as gi_op_route does, of the tokens of a batch, and sorts what they take.
void gi_op_route_sorted(struct gi_recorder *recorder, const struct gi_experts *experts,
                        const struct gi_rows *logits, const struct gi_vectors *vectors,
                        uint32_t bias, const struct gi_sorted_rows *rows);
// input = x of the token of each row.
void gi_op_gather_rows(struct gi_recorder *recorder, const struct gi_experts *experts,
                       const struct gi_rows *x, const struct gi_sorted_rows *rows);
// y = W input, or with is_act W act, of the expert of each row; y (n, stride) has the rows of an
// expert in the GPU order of W. (ops/gemm/gemm.c)
void gi_op_gemm_experts(struct gi_recorder *recorder, const char *label,
                        const struct gi_experts *experts, const struct gi_weight *weight,
                        const struct gi_sorted_rows *rows, bool is_act, const struct gi_rows *y);
// act = activation(g) * u of each row. (ops/norm/glu.c)
void gi_op_glu_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                       enum gi_activation activation, const struct gi_weight *weight,
                       const struct gi_rows *gate_up, const struct gi_sorted_rows *rows);
// x += scale * sum of share * y, for a batch of rows of n_embd; y (n, y_width) is sorted.
void gi_op_add_sorted_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                              const struct gi_sorted_rows *rows, const struct gi_rows *y,
                              uint32_t n_embd, float scale, const struct gi_rows *x);

#endif
