// The lists that verify a draft, after a small batch: the logits of all rows, then the choice of a
// token for each row with its own step_state, as a step at its position would choose. The lists and
// their buffers are created when an answer first uses drafts.
#ifndef GI_ENGINE_VERIFY_H
#define GI_ENGINE_VERIFY_H

#include "engine/session/session.h"

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
// Returns true if answers with this end can use drafts now.
bool gi_verifier_is_ready(const struct glinfer_session *session, enum gi_step_end end);
// Destroys the session's verifier, if it has one.
void gi_verifier_close(struct glinfer_session *session);

// Returns true if the model supports drafts and the session decodes alone.
bool gi_verifier_suits(const struct glinfer_session *session);
// Returns the maximum rows of a draft's batch; 0: no such batches.
uint32_t gi_verifier_rows(const struct glinfer_session *session);
// Returns the range of the rows' step_states, GI_STEP_STATE_STRIDE bytes each.
const struct gi_range *gi_verifier_states(const struct gi_verifier *verifier);
// Return the executors of the lists. The rows in use are the slots of the list of choices.
struct gi_executor *gi_verifier_logits(const struct gi_verifier *verifier);
struct gi_executor *gi_verifier_choices(const struct gi_verifier *verifier, enum gi_step_end end);

#endif
