// Drafts of an answer (engine/answer/lookup.h) on the GPU: the token that is to be computed and
// those drafted behind it go through the model as one batch, and a token is chosen for each row
// with the settings and the random numbers of the step at its place. What a row chooses counts as
// long as all before it chose what was drafted, so that the answer is that of steps, but for
// rounding. What was computed of a wrong draft lies behind the end of the text, where the next
// token overwrites it. Private to the files of this folder.
#ifndef GI_ENGINE_SPECULATE_H
#define GI_ENGINE_SPECULATE_H

#include "engine/answer/lookup.h"
#include "gpu/dispatch/joint.h"
#include "gpu/dispatch/runner.h"

struct gi_answer;

enum gi_speculation_phase {
    GI_SPECULATION_IDLE,
    GI_SPECULATION_BATCH,  // to be submitted: the batch,
    GI_SPECULATION_LOGITS, // the logits of its rows,
    GI_SPECULATION_CHOICE, // their tokens
    GI_SPECULATION_FLYING, // all of it is
};

// Zero: there are no drafts.
struct gi_speculation {
    struct gi_lookup lookup;
    enum gi_speculation_phase phase;
    uint32_t n_draft;            // of the batch
    struct gi_joint_place place; // its rows
    bool is_behind;              // step_state is before the last token that was chosen
    bool is_alone;               // the chain in flight was submitted to be looked at soon
    bool was_draft;              // the latest landing was of a draft
    uint64_t begin_ns;           // time of the clock when the batch was begun
};

// Begins the drafts of an answer that asks for them; where the host or a change of logits has a say
// in its tokens there are none. The context is entered. Fails as gi_verifier_open does.
bool gi_speculation_begin(struct gi_answer *answer);
// True if no steps are to be submitted beside those in flight: a draft comes next.
bool gi_speculation_holds(const struct gi_answer *answer);
// Chooses a draft behind all that was delivered, while nothing is in flight; false: there is none
// that pays. True too while one is being submitted.
bool gi_speculation_choose(struct gi_answer *answer);
// Begins to submit the next part of a batch with a draft.
bool gi_speculation_submit(struct gi_answer *answer);
// Notes that what is open was submitted whole; true if that was a part of such a batch.
bool gi_speculation_advance(struct gi_answer *answer);
// True if what row i has chosen is what was drafted, or nothing was.
bool gi_speculation_is_right(const struct gi_answer *answer, const struct gi_landing *landing,
                             uint32_t i);
// Takes the first n_live tokens of a landing, which took ns (0: not known), as those of a draft, or
// of steps.
void gi_speculation_land(struct gi_answer *answer, const struct gi_landing *landing,
                         uint32_t n_live, uint64_t ns);
// Notes that token i of the landing was delivered.
void gi_speculation_note(struct gi_answer *answer, const struct gi_landing *landing, uint32_t i);

#endif
