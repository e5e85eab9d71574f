// The end of a step: choose the next token, write it with its log-probabilities into the ring,
// advance step_state (token, n_past += n_tokens, n_tokens = 1, step, done) and rewrite the grids of
// an indirect table. A NaN or infinity among the logits gives status GI_RING_STATUS_NAN and sets
// done. With state.ban_stop no stop id is chosen.
#ifndef GI_OPS_SAMPLE_H
#define GI_OPS_SAMPLE_H

#include "gpu/dispatch/step_state.h"
#include "ops/gemv/gemv.h"
#include "ops/record/recorder.h"

struct gi_step_buffers {
    struct gi_range state;  // struct gi_step_state
    struct gi_range ring;   // GI_RING_SLOTS struct gi_ring_entry
    struct gi_range counts; // GI_MAX_SLOTS struct gi_grid_slot
};

// Holds what adjusts the logits of a step before a token is chosen: one range of uints, which is
// read as far as state.adjust says.
//   counts  (n_vocab)         at 0: of a token in the window
//   bias    (n_vocab) f32     added first; -INFINITY bans the token
//   mask    (n_vocab / 32)    bit i % 32 of word i / 32 is 0 for a token that is banned
//   window  (n_slot)          a ring of the text's last tokens
// The index in the window of the token at a position is that plus state.window_skip, its place in
// the ring the index modulo n_slot; the first index is 0. Before a step the last token of the text
// is in state.token alone.
struct gi_adjust {
    struct gi_range range;
    uint32_t bias, mask, window; // offsets in uints
    uint32_t n_slot;             // more than a window has tokens
};
// Sets the offsets; returns the bytes that the range must have.
uint64_t gi_adjust_layout(struct gi_adjust *adjust, uint32_t n_vocab, uint32_t n_ctx);

// The largest top_k of gi_op_sample_small_k: with all stop ids half of the slots that a threshold
// is chosen from.
#define GI_SMALL_K (128 - GI_MAX_STOP_IDS)
// The largest vocabulary of any op but gi_op_argmax, less one.
#define GI_MAX_VOCAB (1u << 20)

// Adjusts the logits in place as state.adjust says (glsl/sample/adjust.comp): bias, then penalties
// of tokens in the window, which moves on by state.token, and the mask. Banned tokens become
// -INFINITY; one is to be left. Sets logits->n_partial to the partial results that it leaves. One
// dispatch of many groups. The recording fails with UNSUPPORTED if the vocabulary has GI_MAX_VOCAB
// tokens.
void gi_op_adjust(struct gi_recorder *recorder, const struct gi_adjust *adjust,
                  struct gi_logits *logits, const struct gi_step_buffers *step);

// token = argmax of the logits, the lowest id on ties. One dispatch.
void gi_op_argmax(struct gi_recorder *recorder, const struct gi_logits *logits,
                  const struct gi_step_buffers *step);

// token sampled from the logits under step_state's settings, in this order: the top_k largest (ties
// by the lower id), of those the smallest set of the largest whose share reaches top_p, of those
// the ones with a share of at least min_p times the largest's, then by temperature: the largest of
// logit / temperature + Gumbel noise from Philox(seed, { position, id, 0, 0 }), position being the
// sampled token's own, n_past + n_tokens; temperature <= 0 takes the largest logit
// (glsl/sample/sampler.glsl).
//
// At logits->scratch GI_SAMPLE_ZEROS zeros are needed at first: a step leaves them so. All fail
// with UNSUPPORTED if the vocabulary has GI_MAX_VOCAB tokens, and with what recording fails with.

// The same for a top_k from 1 to GI_SMALL_K. One dispatch of many groups.
void gi_op_sample_small_k(struct gi_recorder *recorder, const struct gi_logits *logits,
                          const struct gi_step_buffers *step);
// The same for any settings. Two dispatches of many groups, whatever form a list has.
void gi_op_sample_full(struct gi_recorder *recorder, const struct gi_logits *logits,
                       const struct gi_step_buffers *step);
// The n_probs largest log-probabilities of the whole vocabulary, best first, into the ring. One
// dispatch, which does not end the step.
void gi_op_probs(struct gi_recorder *recorder, const struct gi_logits *logits,
                 const struct gi_step_buffers *step);
// Those, and then as gi_op_sample_full. Three dispatches.
void gi_op_sample_probs(struct gi_recorder *recorder, const struct gi_logits *logits,
                        const struct gi_step_buffers *step);

#endif
