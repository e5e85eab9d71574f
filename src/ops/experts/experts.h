// A mixture of experts: a token uses n_used of n_expert networks: always the last n_shared, and
// those of the others with the largest router logits. A decode step and a small batch run each
// expert by token; a larger batch sorts its rows by expert first.
#pragma once

#include "ops/embed/embed.h"
#include "ops/experts/router_rule.h"
#include "ops/record/activation.h"
#include "ops/record/recorder.h"
#include "ops/record/stream.h"
#include "ops/record/weight.h"

// Floats of a route: { expert, share, place among the written sorted rows, sorted row }.
#define GI_ROUTE_FLOATS 4

// A token's row of activations: n_used rows of act_width, then at `route`, for each of them,
// { f32 expert, f32 share, 0, 0 }. Widths are in floats, multiples of 32.
struct gi_experts {
    uint32_t n_expert, n_used;
    uint32_t n_shared; // among them
    uint32_t n_ff;     // of an expert
    uint32_t act_width, route;
    uint32_t y_width; // of an expert's result
    struct gi_router_rule router;
};

// The rows of a batch sorted by expert, so that each expert's weights are read once for all its
// tokens: one row for each pair of a token and an expert that it uses. All are in one range, at
// offsets in floats, multiples of 64. In f16 (ops/gemm/half_rows.h) each expert's rows of input and
// act begin at multiples of four; rows of results are always contiguous.
struct gi_sorted_rows {
    struct gi_range range;
    uint32_t input;       // (n, y_width): what experts read
    uint32_t act;         // (n, act_width)
    uint32_t tiles;       // runs of rows of one expert: glsl/experts/sort_experts.comp
    uint32_t route;       // (n_tokens, n_used) of { expert, share, place, row }
    uint32_t n;           // n_tokens * n_used
    uint32_t tile_tokens; // maximum rows of a run
    bool is_half;
};

// Returns the floats that a token needs in the range of sorted rows.
uint32_t gi_sorted_width(const struct gi_experts *experts);
// Lays out sorted rows of at most n_tokens in a range of n_tokens * gi_sorted_width floats, in f16
// if products take it and the range has room. Returns false if sorting does not pay because an
// expert has about one row.
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

// Returns the rows of a router's matrix, in whose last tile the gate of shared experts comes first.
uint32_t gi_router_rows(const struct gi_experts *experts);
// Chooses the experts of each token by the largest logits, the lowest expert on ties, and computes
// their shares; shared experts follow.
//   bias   offset in the vectors of one float for each expert, if has_bias
//   factor offset of one float for each expert, which multiplies its share; UINT32_MAX: 1
//   logits (n_tokens, gi_router_rows)      act  written from `route` on
void gi_op_route(struct gi_recorder *recorder, const struct gi_experts *experts,
                 enum gi_experts_tokens tokens, const struct gi_rows *logits,
                 const struct gi_vectors *vectors, uint32_t bias, uint32_t factor,
                 const struct gi_rows *act);

// act = activation(g) * u of each chosen expert, or activation(u) of an ungated W. The input is the
// stream's norm times 1 / rms in a step; if stream is NULL, the rows of x.
//   W (n_expert * 2 * n_ff, n_embd) in the order of experts; ungated, half the rows
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
// x += scale * sum of share * y, for a batch of rows of n_embd; x = that if it is not added.
void gi_op_add_experts_batch(struct gi_recorder *recorder, const struct gi_experts *experts,
                             const struct gi_rows *act, const struct gi_rows *y, uint32_t n_embd,
                             float scale, bool is_added, const struct gi_rows *x);

// Returns the rows of a tile of gi_op_gemm_experts for n rows of n_expert experts.
// (ops/gemm/gemm.c)
uint32_t gi_experts_tile(const struct gi_gpu *gpu, uint32_t n, uint32_t n_expert, bool is_half);

// Returns true if the recorder allows products in f16 and they are faster. (ops/gemm/gemm.c)
bool gi_experts_take_half(const struct gi_recorder *recorder, uint32_t n, uint32_t n_expert);

// Ops on sorted rows, in the order in which a batch records them.
// Chooses the experts of a batch's tokens like gi_op_route, and sorts the rows by expert.
void gi_op_route_sorted(struct gi_recorder *recorder, const struct gi_experts *experts,
                        const struct gi_rows *logits, const struct gi_vectors *vectors,
                        uint32_t bias, uint32_t factor, const struct gi_sorted_rows *rows);
// input = x of the token of each row.
void gi_op_gather_rows(struct gi_recorder *recorder, const struct gi_experts *experts,
                       const struct gi_rows *x, const struct gi_sorted_rows *rows);
// y = W input, or W act if is_act, with W of each row's expert; columns of y (n, stride) are in the
// GPU order of an expert's rows of W. (ops/gemm/gemm.c)
void gi_op_gemm_experts(struct gi_recorder *recorder, const char *label,
                        const struct gi_experts *experts, const struct gi_weight *weight,
                        const struct gi_sorted_rows *rows, bool is_act, const struct gi_rows *y);
// act = activation(g) * u of each row, or activation(u) of an ungated weight. (ops/norm/glu.c)
void gi_op_glu_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                       enum gi_activation activation, const struct gi_weight *weight,
                       const struct gi_rows *gate_up, const struct gi_sorted_rows *rows);
// x += scale * sum of share * y, for a batch of rows of n_embd, or x = that; y (n, y_width) is
// sorted.
void gi_op_add_sorted_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                              const struct gi_sorted_rows *rows, const struct gi_rows *y,
                              uint32_t n_embd, float scale, bool is_added, const struct gi_rows *x);
