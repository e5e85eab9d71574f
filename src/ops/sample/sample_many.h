// The end of a step that draws among any number of candidates: what gi_op_sample gives, by many work groups in three
// small dispatches (glsl/sample/many.glsl). No log-probabilities are written.
#ifndef GI_OPS_SAMPLE_MANY_H
#define GI_OPS_SAMPLE_MANY_H

#include "ops/sample/sample.h"

// The largest top_k that gi_op_sample takes by a fast way on every device.
#define GI_SAMPLE_FEW 192

// Needs a temperature over 0, no n_probs, logits by gi_op_gemv_vocab, and at first GI_SAMPLE_SUMS_SIZE zeros at
// logits->many: a step leaves them so. It is no stage of a persistent program. Fails with what recording fails with.
bool gi_op_sample_many(struct gi_recorder *recorder, const struct gi_logits *logits,
                       const struct gi_step_buffers *step, struct glinfer_error *err);

#endif
