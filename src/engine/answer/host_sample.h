// Samples tokens on the host: reads the logits of each step back, and writes the token that the
// chain of samplers chooses as the input of the next step. The GPU still makes its greedy choice,
// which is cheap and shows whether the logits are finite; the host replaces it. Private to answer.c
// and answer_submit.c.
#pragma once

#include "engine/session/session.h"

struct gi_answer;

// All-zero: no token is chosen on the host.
struct gi_host_sample {
    struct gi_sampler_chain *chain; // the session's, borrowed
    bool has_constraint;            // the session's
    const uint32_t *mask;           // of the latest submitted step; NULL: all tokens may come
    struct gi_ring_entry entry;     // of the latest retired step
};

// Begins a text of the grammar, if there is one, and sampling on the host if the parameters require
// it. The text so far is that of the session and the prompt. The context is entered. Fails with
// NO_MEMORY, DRIVER.
bool gi_host_sample_begin(struct gi_answer *answer);
// Ends sampling on the host. An answer with is_done is never resumed. Makes no GL calls, so the
// host's context may be current.
void gi_host_sample_end(struct gi_answer *answer, bool is_done);

// Begins the readback of the logits of the latest submitted step, which begin at the start of the
// range. Returns true at once if no token is chosen on the host.
bool gi_host_sample_request(struct gi_answer *answer, const struct gi_range *logits);
// Chooses the token of a step that has run, stores it in landing->entries, and passes the token to
// the grammar in any case. Fails with GPU_LOST, DRIVER, and UNSUPPORTED if every token is banned.
bool gi_host_sample_choose(struct gi_answer *answer, struct gi_landing *landing);
