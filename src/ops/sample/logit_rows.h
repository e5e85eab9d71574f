// The logits of several tokens, as gi_op_gemv_vocab leaves those of one.
#ifndef GI_OPS_LOGIT_ROWS_H
#define GI_OPS_LOGIT_ROWS_H

#include "ops/gemv/gemv.h"
#include "ops/record/recorder.h"

// l[m] = scale * l[m] or, with softcap over 0, softcap * tanh(that / softcap), for m <
// step_state.n_tokens, and behind each row its partial results, where layout says.
//   rows  (n_tokens, stride)  in: products of the output projection, the first n_vocab of which are
//                             looked at; out: the same as struct gi_logits has them
// Sets layout->n_partial.
void gi_op_logit_rows(struct gi_recorder *recorder, const char *label, const struct gi_rows *rows,
                      float scale, float softcap, struct gi_logits *layout);

#endif
