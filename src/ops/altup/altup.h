// AltUp: four residual streams, of which layers compute only the first. A layer begins by
// predicting the output of all four and ends by correcting them with the computed first one.
// LAuReL: a low-rank branch next to attention. The kernels in glsl/altup state the formulas. Each
// op records one dispatch, for a batch or for a step, and fails like gi_recorder_add.
#pragma once

#include "glsl/altup/altup_params.h"
#include "ops/embed/embed.h"

#define GI_ALTUP_STREAMS 4u

// The residual streams of the tokens of a batch or of a step.
struct gi_altup {
    struct gi_altup_params params; // n_embd, eps, router, weights of norms, scale; ops set the rest
    struct gi_rows rows; // (n_tokens, GI_ALTUP_STREAMS * n_embd); in a step one row, in which two
                         // vectors (n_embd) follow: gi_altup_branch and gi_altup_joined
    const struct gi_vectors *vectors; // borrowed
    struct gi_stream *stream;         // borrowed; residual of a step; NULL: a batch, residual x
    struct gi_rows x;
    struct gi_rows branch; // result of a batch's low-rank branch: of gi_op_laurel_join
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

// streams = x and its three projections y, (n_tokens, 3 n_embd), scaled to the length of x.
void gi_op_altup_embed(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                       const struct gi_altup *altup);

// streams and x = predictions. First adds norm(y) to all streams except the first; y NULL: adds
// nothing.
void gi_op_altup_predict(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                         const struct gi_altup *altup);

// x = ((x + norm(y)) + (norm(x) + norm(branch))) / sqrt(2). In a step the branch and the new x
// follow the streams in the row. There the residual keeps the old x, but gets norm and sums of the
// new x.
void gi_op_laurel_join(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                       const struct gi_altup *altup);

// Corrects the streams by x + norm(y); x = the first stream times the vector at scale.
void gi_op_altup_correct(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                         const struct gi_altup *altup);

// Adds norm(y) to all streams except the first.
void gi_op_altup_add(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                     const struct gi_altup *altup);

// x = the mean of the first stream and the projections y (n_tokens, 3 n_embd) of the others, scaled
// to the first stream's length.
void gi_op_altup_merge(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                       const struct gi_altup *altup);
