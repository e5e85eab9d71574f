// The end of a step that draws among the top_k largest logits, where those are few: what gi_op_sample gives, by many
// work groups in one small dispatch (glsl/sample/sample_top.comp). No log-probabilities are written.
#ifndef GI_OPS_SAMPLE_TOP_H
#define GI_OPS_SAMPLE_TOP_H

#include "ops/sample/sample.h"

// The largest top_k: with all stop ids half of the slots that a threshold is chosen from.
#define GI_SAMPLE_TOP (128 - GI_MAX_STOP_IDS)
// Invocations of the smallest groups that there is a program for.
#define GI_SAMPLE_TOP_GROUP 128

// Whether the device has groups that are large enough, and the vocabulary not too many tokens to count.
bool gi_sample_top_is_possible(const struct gi_gpu *gpu, uint32_t n_vocab);

// Needs that, a top_k from 1 to GI_SAMPLE_TOP, no n_probs, logits by gi_op_gemv_vocab, and at first a zero at logits->top:
// a step leaves it so. A stage of persistent programs, too. Fails with what recording fails with.
bool gi_op_sample_top(struct gi_recorder *recorder, const struct gi_logits *logits,
                      const struct gi_step_buffers *step, struct glinfer_error *err);

#endif
