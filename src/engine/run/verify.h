// The lists that follow a small batch of a prompt where a token is chosen for each of its rows: the
// logits of all rows, then the choice of each by a step_state of its own, as the step at that place
// would have it. They and their buffers are made when an answer first asks for drafts.
#ifndef GI_ENGINE_VERIFY_H
#define GI_ENGINE_VERIFY_H

#include "engine/run/session.h"

// Makes what choices of such an end need, if it is not there, and tests its programs as those of
// answers are; nothing where a session has no small batches. Fails with OVER_BUDGET, NO_MEMORY,
// UNSUPPORTED, DRIVER, GPU_LOST.
bool gi_verifier_open(struct glinfer_session *session, enum gi_step_end end,
                      struct glinfer_error *err);
// Makes ready what drafts of answers with such settings need, if they may have any: the small batch
// too. Where a program of theirs is wrong that no other takes the place of, says so and does
// without drafts. Fails as gi_verifier_open otherwise, and as gi_tables_prepare.
bool gi_verifier_prepare(struct glinfer_session *session,
                         const struct glinfer_generate_params *params, enum gi_step_end end,
                         struct glinfer_error *err);
// True if answers that end so can have drafts now.
bool gi_verifier_is_ready(const struct glinfer_session *session, enum gi_step_end end);
// Accepts NULL.
void gi_verifier_destroy(struct gi_verifier *verifier, struct glinfer_session *session);

// True if a model's answers may have drafts, in sessions that decode alone.
bool gi_verifier_suits(const struct glinfer_session *session);
// Returns the rows of a batch at most; 0: there are no such batches.
uint32_t gi_verifier_rows(const struct glinfer_session *session);
// Returns where the step_states of the rows are, GI_STEP_STATE_STRIDE bytes each.
const struct gi_range *gi_verifier_states(const struct gi_verifier *verifier);
// Return the executors of the lists; the rows that there are, are slots of the choices' list.
struct gi_executor *gi_verifier_logits(const struct gi_verifier *verifier);
struct gi_executor *gi_verifier_choices(const struct gi_verifier *verifier, enum gi_step_end end);

#endif
