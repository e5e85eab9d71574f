// The end of a step: chooses the next token, writes it with its log-probabilities into the ring,
// advances step_state (token, n_past += n_tokens, n_tokens = 1, step, done) and rewrites the grids
// of an indirect table. A NaN or infinity among the logits gives status GI_RING_STATUS_NAN and sets
// done. If state.ban_stop is set, no stop id is chosen.
#pragma once

#include "gpu/dispatch/step_state.h"
#include "ops/gemv/gemv.h"
#include "ops/record/recorder.h"

struct gi_step_buffers {
    struct gi_range state;  // struct gi_step_state
    struct gi_range ring;   // GI_RING_SLOTS struct gi_ring_entry
    struct gi_range counts; // GI_MAX_SLOTS struct gi_grid_slot
};

// The adjustments of a step's logits before a token is chosen: one range of uints. state.adjust
// says which of them apply.
//   counts  (n_vocab)         at 0: occurrences of each token in the window
//   bias    (n_vocab) f32     added first; -INFINITY bans the token
//   mask    (n_vocab / 32)    bit i % 32 of word i / 32 is 0 for a banned token
//   window  (n_slot)          a ring of the text's last tokens
// The token at a position has the window index position + state.window_skip, and is at that index
// modulo n_slot in the ring; the first index is 0. Before a step, the last token of the text is
// only in state.token.
struct gi_adjust {
    struct gi_range range;
    uint32_t bias, mask, window; // offsets in uints
    uint32_t n_slot;             // more than a window has tokens
};
// Sets the offsets; returns the bytes that the range must have.
uint64_t gi_adjust_layout(struct gi_adjust *adjust, uint32_t n_vocab, uint32_t n_ctx);

// The largest top_k of gi_op_sample_small_k: together with all stop ids it fills half of the slots
// from which a threshold is chosen.
#define GI_SMALL_K (128 - GI_MAX_STOP_IDS)
// Vocabularies of all ops except gi_op_argmax must be smaller than this.
#define GI_MAX_VOCAB (1u << 20)

// Adjusts the logits in place as state.adjust says (glsl/sample/adjust.comp): bias, then penalties
// of tokens in the window, to which state.token is added, and the mask. Banned tokens become
// -INFINITY; at least one token must remain. Sets logits->n_partial to the number of partial
// results that it writes. One dispatch of many groups. The recording fails with UNSUPPORTED if the
// vocabulary has GI_MAX_VOCAB tokens or more.
void gi_op_adjust(struct gi_recorder *recorder, const struct gi_adjust *adjust,
                  struct gi_logits *logits, const struct gi_step_buffers *step);

// token = argmax of the logits, the lowest id on ties. One dispatch.
void gi_op_argmax(struct gi_recorder *recorder, const struct gi_logits *logits,
                  const struct gi_step_buffers *step);

// The ops below sample a token from the logits with step_state's settings, in this order: the top_k
// largest (the lower id on ties); of these the smallest set of the largest whose share reaches
// top_p; of these the ones with a share of at least min_p times the largest's; then the largest of
// logit / temperature + Gumbel noise from Philox(seed, { position, id, 0, 0 }), where position is
// the sampled token's, n_past + n_tokens. temperature <= 0 takes the largest logit
// (glsl/sample/sampler.glsl).
//
// The first GI_SAMPLE_ZEROS uints at logits->scratch must be 0 before the first step; a step resets
// them. The recording fails with UNSUPPORTED if the vocabulary has GI_MAX_VOCAB tokens or more.

// Samples with a top_k from 1 to GI_SMALL_K. One dispatch of many groups.
void gi_op_sample_small_k(struct gi_recorder *recorder, const struct gi_logits *logits,
                          const struct gi_step_buffers *step);
// Samples with any settings. Two dispatches of many groups in every form of list.
void gi_op_sample_full(struct gi_recorder *recorder, const struct gi_logits *logits,
                       const struct gi_step_buffers *step);
// Writes the n_probs largest log-probabilities of the whole vocabulary, best first, into the ring.
// One dispatch, which does not end the step.
void gi_op_probs(struct gi_recorder *recorder, const struct gi_logits *logits,
                 const struct gi_step_buffers *step);
// Records gi_op_probs, then gi_op_sample_full. Three dispatches.
void gi_op_sample_probs(struct gi_recorder *recorder, const struct gi_logits *logits,
                        const struct gi_step_buffers *step);
