// Adjusts logits on the GPU inside a chain: penalties, biases and the grammar's mask of an answer.
// Applies if the samplers, in their order, are ones that the GPU implements. Owns the host's copy
// of the adjustments, so that the GPU's copy can be rewritten when an answer resumes. Private to
// this folder.
#pragma once

#include "gpu/dispatch/step_state.h"
#include "sampler/repetition.h"

struct gi_answer;

// All-zero: no adjustment.
struct gi_adjusting {
    uint32_t bits;             // enum gi_adjust_bit
    struct gi_history history; // the text without its last token; for penalties
    uint32_t last;             // the last token
    uint32_t window_skip;      // see struct gi_step_state
    uint32_t *banned;          // (n_vocab / 32) bits of tokens that biases ban; NULL: no biases
    uint32_t *mask;            // (n_vocab / 32) copy of the GPU's mask; NULL: no mask
    bool has_mask;             // the mask was written
};

// Prepares the adjustments whose bits are set, and writes them to the GPU. The text is that of the
// session and the prompt, or the pending token if the answer is resumed. The context is entered.
// Fails with NO_MEMORY, GPU_LOST, and UNSUPPORTED if every token is banned.
bool gi_adjust_begin(struct gi_answer *answer);
// Frees the adjustments. Accepts all-zero.
void gi_adjust_finish(struct gi_adjusting *adjusting);

// Appends a token that the GPU chose to the text.
void gi_adjust_accept(struct gi_adjusting *adjusting, uint32_t token);
// Rewrites the window of penalties for a text whose last token is at `position`. Fails with
// GPU_LOST, NO_MEMORY.
bool gi_adjust_write(struct gi_answer *answer, uint32_t position);
// Returns true if a grammar's mask applies: a step is then sampled only after the previous token.
bool gi_adjust_is_masked(const struct gi_answer *answer);
// Writes the mask of the tokens that may come next, if there is one. Fails as gi_constraint_mask
// and gi_adjust_write do.
bool gi_adjust_write_mask(struct gi_answer *answer);
// Sets the fields of step_state that describe the adjustments of its step.
void gi_adjust_set(const struct gi_adjusting *adjusting, struct gi_step_state *state);
