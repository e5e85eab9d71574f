// Tokens that a chain of samplers chooses on the host: behind each step its logits are read back,
// and the next step begins with what the chain chooses. The GPU's own choice, the likeliest token,
// costs next to nothing and tells whether the logits are sound; it is replaced. Private to
// answer.c and answer_submit.c.
#ifndef GI_ENGINE_HOST_SAMPLE_H
#define GI_ENGINE_HOST_SAMPLE_H

#include "engine/run/session.h"

struct gi_answer;

// Zero: no token is chosen on the host.
struct gi_host_sample {
    struct gi_sampler_chain *chain; // the session's, borrowed
    bool has_constraint;            // the session's
    const uint32_t *mask;           // of the step that was submitted last; NULL: all may come
    struct gi_ring_entry entry;     // of the step that was taken last
};

// Begins a text of the grammar, if there is one, and to choose on the host if the parameters of a
// answer ask for it: from the prompt tokens[0..answer->n_prompt) behind what the session holds,
// or, tokens being NULL, where the broken answer left off. The context is entered. Fails with
// NO_MEMORY, DRIVER.
bool gi_host_sample_begin(struct gi_answer *answer, const uint32_t *tokens);
// Ends it; an answer that is_done is never resumed. Takes nothing of the GPU: the host's context
// may not be current.
void gi_host_sample_end(struct gi_answer *answer, bool is_done);

// True if tokens are chosen on the host: chains then have one step, and wait for each other.
bool gi_host_sample_is_on(const struct gi_answer *answer);
// Writes what the next step begins with. True without doing anything if nothing is chosen here.
bool gi_host_sample_write(const struct gi_answer *answer);
// Asks for the logits of the step that was submitted last, which lie at the start of a range.
// Likewise.
bool gi_host_sample_request(struct gi_answer *answer, const struct gi_range *logits);
// Chooses the token of a step that has run, and makes landing->entries tell it; has the grammar
// accept it, whoever has chosen it. Fails with GPU_LOST, DRIVER, and UNSUPPORTED if every token is
// banned.
bool gi_host_sample_choose(struct gi_answer *answer, struct gi_landing *landing);

#endif
