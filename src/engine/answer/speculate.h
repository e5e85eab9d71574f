// Speculative decoding of an answer: runs drafts (engine/session/lookup.h) on the GPU. The next
// token and the drafted tokens after it are one batch, and each row samples with the settings and
// random numbers of the step at its position. Chosen tokens count up to the first that differs from
// the draft, so the answer is that of single steps except for rounding. Rows of wrong tokens stay
// in the cache after the end of the text, where the next tokens overwrite them. Private to this
// folder.
#pragma once

#include "engine/session/lookup.h"
#include "gpu/dispatch/joint.h"
#include "gpu/dispatch/runner.h"

struct gi_answer;

enum gi_speculation_phase {
    GI_SPECULATION_IDLE,
    GI_SPECULATION_BATCH,  // submits the batch next
    GI_SPECULATION_LOGITS, // submits the logits of its rows next
    GI_SPECULATION_CHOICE, // submits the choice of their tokens next
    GI_SPECULATION_FLYING, // everything is submitted
};

// All-zero: no drafts.
struct gi_speculation {
    struct gi_lookup lookup;
    enum gi_speculation_phase phase;
    uint32_t n_draft;            // drafted tokens of the batch
    struct gi_joint_place place; // slots of the batch's rows
    bool is_behind;              // step_state does not have the last chosen token yet
    bool is_alone;               // the chain in flight is timed: no other follows it
    bool was_draft;              // the latest readback was of a draft
    uint64_t begin_ns;           // clock time when the batch was begun
};

// Enables drafts if the answer requests them, unless the host chooses its tokens or its logits are
// adjusted. The context is entered. Fails as gi_verifier_open does.
bool gi_speculation_begin(struct gi_answer *answer);
// Returns true if a draft comes next, so that no more steps are submitted.
bool gi_speculation_holds(const struct gi_answer *answer);
// Chooses a draft to follow the delivered tokens, while nothing is in flight. Returns false if
// steps are faster; true also while a draft is being submitted.
bool gi_speculation_choose(struct gi_answer *answer);
// Begins to submit the next list of a batch with a draft.
bool gi_speculation_submit(struct gi_answer *answer);
// Advances the phase after the open list was submitted. Returns true if it was part of a draft.
bool gi_speculation_advance(struct gi_answer *answer);
// Returns true if row i chose the drafted token, or if the landing is not of a draft.
bool gi_speculation_is_right(const struct gi_answer *answer, const struct gi_landing *landing,
                             uint32_t i);
// Records the first n_live tokens of a landing, of a draft or of steps, and its duration ns; 0:
// unknown.
void gi_speculation_land(struct gi_answer *answer, const struct gi_landing *landing,
                         uint32_t n_live, uint64_t ns);
// Records that token i of the landing was delivered.
void gi_speculation_note(struct gi_answer *answer, const struct gi_landing *landing, uint32_t i);
