// AltUp: four streams of the residual, of which layers work on the first. A layer begins with a
// prediction of what all will be behind it, and ends by correcting them by what became of the
// first. LAuReL: a low-rank branch beside attention. Formulas are in the heads of glsl/altup. Each
// op records one dispatch, of a batch or of a step, and fails as gi_recorder_add does.
#ifndef GI_OPS_ALTUP_H
#define GI_OPS_ALTUP_H

#include "ops/embed/embed.h"

#define GI_ALTUP_STREAMS 4u

// The streams of a batch's tokens, or of a step's. Offsets in vectors are in floats.
struct gi_altup {
    uint32_t n_embd;     // a multiple of 64, so that a stream can be bound by itself
    struct gi_rows rows; // (n_tokens, GI_ALTUP_STREAMS * n_embd); of a step, one row, with two more
                         // of n_embd behind the streams: gi_altup_branch and gi_altup_joined
    float eps;           // of all norms
    const struct gi_vectors *vectors; // borrowed
    struct gi_stream *stream;         // borrowed; of a step; NULL: of a batch, whose residual is x
    struct gi_rows x;
};

// Floats of a step's row, and where in it the result of the low-rank branch and the residual behind
// attention lie.
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

// The router of a layer: the weights of its norm (n_embd), its matrix (4, n_embd), and coefficients
// (16, 4) of a prediction or (4, 4) of a correction.
struct gi_altup_router {
    uint32_t norm, matrix, coefs;
};

// streams = x and its three projections y, (n_tokens, 3 n_embd), of the length of x.
void gi_op_altup_embed(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                       const struct gi_altup *altup);

// streams and x = predictions. Before that norm(y) with the weights input_gamma is added to all
// streams but the first; y NULL: nothing is. gamma is of the norm that follows in a step.
void gi_op_altup_predict(struct gi_recorder *recorder, const char *label,
                         const struct gi_altup_router *router, const struct gi_rows *y,
                         uint32_t input_gamma, uint32_t gamma, const struct gi_altup *altup);

// The weights of norms of the residual, of what attention gives, of the branch, and of the norm
// that follows in a step.
struct gi_laurel_norms {
    uint32_t x_gamma, y_gamma, branch_gamma, gamma;
};
// x = ((x + norm(y)) + (norm(x) + norm(branch))) / sqrt(2). branch is of a batch; in a step it lies
// behind the streams, and so does the new x: the stream keeps the old one, with norm and sums of
// the new one.
void gi_op_laurel_join(struct gi_recorder *recorder, const char *label,
                       const struct gi_laurel_norms *norms, const struct gi_rows *y,
                       const struct gi_rows *branch, const struct gi_altup *altup);

// Corrects the streams by x + norm(y) with the weights y_gamma; x = the first of them times the
// vector at scale.
void gi_op_altup_correct(struct gi_recorder *recorder, const char *label,
                         const struct gi_altup_router *router, const struct gi_rows *y,
                         uint32_t y_gamma, uint32_t scale, const struct gi_altup *altup);

// Adds norm(y) to all streams but the first.
void gi_op_altup_add(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                     uint32_t gamma, const struct gi_altup *altup);

// x = the mean of the first stream and of the projections u of the others, (n_tokens, 3 n_embd), at
// its length. gamma is of the norm that follows in a step.
void gi_op_altup_merge(struct gi_recorder *recorder, const char *label, const struct gi_rows *u,
                       uint32_t gamma, const struct gi_altup *altup);

#endif
