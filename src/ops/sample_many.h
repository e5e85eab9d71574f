// The end of a step that draws among many candidates: what gi_op_sample gives, by many work groups in four small
// dispatches, or six (glsl/lib/many.glsl). Worth it where a cut by top_p, or by a top_k that gi_op_sample has no room
// for, can leave more than a few hundred tokens; no log-probabilities are written.
#ifndef GI_OPS_SAMPLE_MANY_H
#define GI_OPS_SAMPLE_MANY_H

#include "ops/sample.h"

// The largest top_k that gi_op_sample takes by a fast way on every device.
#define GI_SAMPLE_FEW 192

// What is cut by, which step_state then has to want: top_k below n_vocab, top_p below 1. At least one of them.
struct gi_sample_cuts {
    bool by_number, by_mass;
};

// Needs a temperature over 0, no n_probs, and logits by gi_op_gemv_vocab. Fails with what recording fails with.
bool gi_op_sample_many(struct gi_recorder *recorder, const struct gi_logits *logits,
                       const struct gi_sample_cuts *cuts, const struct gi_step_buffers *step,
                       struct glinfer_error *err);

#endif
