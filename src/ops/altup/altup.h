// AltUp: four residual streams, of which layers compute only the first. A layer begins by
// predicting the output of all four and ends by correcting them with the computed first one.
// LAuReL: a low-rank branch next to attention. The kernels in glsl/altup state the formulas. Each
// op records one dispatch, for a batch or for a step, and fails like gi_recorder_add.
#ifndef GI_OPS_ALTUP_H
#define GI_OPS_ALTUP_H

#include "ops/embed/embed.h"

#define GI_ALTUP_STREAMS 4u

// The residual streams of the tokens of a batch or of a step. Offsets in vectors are in floats.
struct gi_altup {
    uint32_t n_embd;     // a multiple of 64, so that a stream can be bound by itself
    struct gi_rows rows; // (n_tokens, GI_ALTUP_STREAMS * n_embd); in a step one row, in which two
                         // vectors (n_embd) follow: gi_altup_branch and gi_altup_joined
    float eps;           // of all norms
    const struct gi_vectors *vectors; // borrowed
    struct gi_stream *stream;         // borrowed; residual of a step; NULL: a batch, residual x
    struct gi_rows x;
};

// Return the floats of a step's row, and the offsets in it of the result of the low-rank branch and
// of the residual after attention.
static inline uint32_t gi_altup_step_width(uint32_t n_embd)
{
    return (GI_ALTUP_STREAMS + 2) * n_embd;
}

static inline uint32_t gi_altup_branch(uint32_t n_embd)
{
    return GI_ALTUP_STREAMS * n_embd;
}

static inline uint32_t gi_altup_joined(uint32_t n_embd)
{
    return (GI_ALTUP_STREAMS + 1) * n_embd;
}

// The router of a layer, as offsets in the vectors: norm weights (n_embd), matrix (4, n_embd) and
// coefficients: (16, 4) of a prediction, (4, 4) of a correction.
struct gi_altup_router {
    uint32_t norm, matrix, coefs;
};

// streams = x and its three projections y, (n_tokens, 3 n_embd), scaled to the length of x.
void gi_op_altup_embed(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                       const struct gi_altup *altup);

// streams and x = predictions. First adds norm(y), with weights input_gamma, to all streams except
// the first; y NULL: adds nothing. gamma: weights of the norm that follows in a step.
void gi_op_altup_predict(struct gi_recorder *recorder, const char *label,
                         const struct gi_altup_router *router, const struct gi_rows *y,
                         uint32_t input_gamma, uint32_t gamma, const struct gi_altup *altup);

// Weights of the norms of the residual, of attention's output and of the branch, and of the norm
// that follows in a step: offsets in the vectors.
struct gi_laurel_norms {
    uint32_t x_gamma, y_gamma, branch_gamma, gamma;
};
// x = ((x + norm(y)) + (norm(x) + norm(branch))) / sqrt(2). branch is used by a batch; in a step
// the branch and the new x follow the streams in the row. There the residual keeps the old x, but
// gets norm and sums of the new x.
void gi_op_laurel_join(struct gi_recorder *recorder, const char *label,
                       const struct gi_laurel_norms *norms, const struct gi_rows *y,
                       const struct gi_rows *branch, const struct gi_altup *altup);

// Corrects the streams by x + norm(y), with norm weights y_gamma; x = the first stream times the
// vector at scale.
void gi_op_altup_correct(struct gi_recorder *recorder, const char *label,
                         const struct gi_altup_router *router, const struct gi_rows *y,
                         uint32_t y_gamma, uint32_t scale, const struct gi_altup *altup);

// Adds norm(y) to all streams except the first.
void gi_op_altup_add(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                     uint32_t gamma, const struct gi_altup *altup);

// x = the mean of the first stream and the projections u (n_tokens, 3 n_embd) of the others, scaled
// to the first stream's length. gamma: weights of the norm that follows in a step.
void gi_op_altup_merge(struct gi_recorder *recorder, const char *label, const struct gi_rows *u,
                       uint32_t gamma, const struct gi_altup *altup);

#endif
