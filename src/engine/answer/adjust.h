// Logits that are adjusted on the GPU inside the chain: penalties, biases and the grammar's mask of
// an answer, as far as samplers in that order are the ones that the GPU has. Owns what the host
// knows of the text, so that what the GPU keeps of it can be written anew wherever an answer goes
// on. Private to the files of this folder.
#ifndef GI_ENGINE_ADJUST_H
#define GI_ENGINE_ADJUST_H

#include "gpu/dispatch/step_state.h"
#include "sampler/repetition.h"

struct gi_answer;

// Zero: nothing is adjusted.
struct gi_adjusting {
    uint32_t bits;             // enum gi_adjust_bit
    struct gi_history history; // the text but for its last token, with penalties
    uint32_t last;             // that token
    uint32_t window_skip;      // as step_state has it
    uint32_t *banned;          // (n_vocab / 32) bits of tokens that biases ban; NULL: no biases
    uint32_t *mask;            // (n_vocab / 32) that the GPU has; NULL: no mask
    bool has_mask;             // it was written
};

// Reads more of what the parameters of an answer ask for, whose bits are set, and writes it to
// the GPU, the text being what the session holds and then tokens[0..answer->n_prompt) or, tokens
// being NULL, the token that is pending. The context is entered. Fails with NO_MEMORY, GPU_LOST,
// and UNSUPPORTED if every token is banned.
bool gi_adjust_begin(struct gi_answer *answer, const uint32_t *tokens);
// Accepts all-zero.
void gi_adjust_finish(struct gi_adjusting *adjusting);

// Adds a token to the text, which the GPU has chosen.
void gi_adjust_accept(struct gi_adjusting *adjusting, uint32_t token);
// Writes the window anew, for a text whose last token is at a position. Fails with GPU_LOST,
// NO_MEMORY.
bool gi_adjust_write(struct gi_answer *answer, uint32_t position);
// True if a grammar's mask is applied: what a step samples has to wait for the token before it.
bool gi_adjust_is_masked(const struct gi_answer *answer);
// Writes the mask of what may come next, if there is one. Fails also with what gi_constraint_mask
// fails with.
bool gi_adjust_write_mask(struct gi_answer *answer);
// Sets the fields of a state that say how its step is adjusted.
void gi_adjust_set(const struct gi_adjusting *adjusting, struct gi_step_state *state);

#endif
