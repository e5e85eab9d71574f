// The lists that verify a draft, after a small batch: the logits of all rows, then the choice of a
// token for each row with its own step_state, as a step at its position would choose. The lists and
// their buffers are created when an answer first uses drafts.
#pragma once

#include "engine/session/session.h"

struct gi_verifier {
    struct gi_owned owned;
    struct glinfer_session *session; // borrowed
    struct gi_arena arena;
    struct gi_slot_array states, logits; // one element per row
    struct gi_logits layout;             // layout of one row
    uint32_t n_rows;
    uint64_t reserved;                              // bytes of the model's budget
    struct gi_executor *rows;                       // computes the logits of all rows
    struct gi_executor *choices[GI_STEP_END_COUNT]; // choose tokens; NULL: not ready yet. The rows
                                                    // in use are the slots of the list
};

// Creates and tests the lists of choices of this end if they do not exist. Does nothing in a
// session without small batches. Fails with OVER_BUDGET, NO_MEMORY, UNSUPPORTED, DRIVER, GPU_LOST.
bool gi_verifier_open(struct glinfer_session *session, enum gi_step_end end,
                      struct glinfer_error *err);
// Prepares all lists for drafts of answers with these parameters, including the small batch. If a
// wrong program has no replacement, logs it and disables drafts. Fails as gi_verifier_open
// otherwise, and as gi_tables_prepare.
bool gi_verifier_prepare(struct glinfer_session *session,
                         const struct glinfer_generate_params *params, enum gi_step_end end,
                         struct glinfer_error *err);
// Destroys the session's verifier, if it has one.
void gi_verifier_close(struct glinfer_session *session);

// Returns true if the model supports drafts and the session decodes alone.
bool gi_verifier_suits(const struct glinfer_session *session);
// Returns the maximum rows of a draft's batch; 0: no such batches.
uint32_t gi_verifier_rows(const struct glinfer_session *session);
