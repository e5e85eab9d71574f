// Log-probabilities of given tokens, for perplexity and for scoring texts.
#pragma once

#include "ops/record/recorder.h"

// out[m] = log softmax(l[m])[targets[m]] for m < step_state.n_tokens, where l = scale * logits; if
// softcap > 0 then softcap * tanh(l / softcap). NaN if a logit is not finite.
//   logits   (n_tokens, n_vocab) f32      targets  (n_tokens) uint      out  (n_tokens) f32
void gi_op_logprob(struct gi_recorder *recorder, const struct gi_rows *logits, uint32_t n_vocab,
                   float scale, float softcap, struct gi_range targets, struct gi_range out);
