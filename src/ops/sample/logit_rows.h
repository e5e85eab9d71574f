// Finishes the logits of several tokens, in the form that gi_op_gemv_vocab writes for one token.
#pragma once

#include "ops/gemv/gemv.h"
#include "ops/record/recorder.h"

// l[m] = scale * l[m]; if softcap > 0 then softcap * tanh(l[m] / softcap), for m <
// step_state.n_tokens. Also writes the partial results of each row, after it, as layout says.
//   rows  (n_tokens, stride)  in: products of the output projection, of which the first n_vocab are
//                             read; out: logits in the layout of struct gi_logits
// Sets layout->n_partial.
void gi_op_logit_rows(struct gi_recorder *recorder, const char *label, const struct gi_rows *rows,
                      float scale, float softcap, struct gi_logits *layout);
