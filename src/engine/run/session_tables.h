// The recorded tables of a session. Each is made ready when a generation first needs it, or ahead: recorded, its
// programs built, sealed. What a first answer does not need costs it nothing.
#ifndef GI_ENGINE_SESSION_TABLES_H
#define GI_ENGINE_SESSION_TABLES_H

#include "engine/run/session.h"

// Tables as bits of a set.
enum {
    GI_TABLE_PROMPT,
    GI_TABLE_PROMPT_FEW,
    GI_TABLE_STEP,
    GI_TABLE_PROMPT_END = GI_TABLE_STEP + GI_STEP_END_COUNT,
    GI_TABLE_COUNT = GI_TABLE_PROMPT_END + GI_STEP_END_COUNT,
};

// How the steps of a generation end.
enum gi_step_end gi_session_choose_end(const struct glinfer_session *session,
                                       const struct glinfer_generate_params *params);
// Returns the set of the table of a decode step.
uint32_t gi_session_step_bit(enum gi_step_end end);
// What a generation begins with: of n_prompt tokens (0: any number) behind those in the cache, which end in a token, with
// more steps behind it or not.
uint32_t gi_session_choose_tables(const struct glinfer_session *session, enum gi_step_end end,
                                  size_t n_prompt, bool has_steps);

// Records all tables for nothing, so that what a device cannot do shows at once. Fails with what ops fail with.
bool gi_session_check_tables(struct glinfer_session *session, struct glinfer_error *err);

// Makes the tables of a set ready; does nothing for those that are. progress may be NULL; false from it cancels. Fails
// with CANCELLED, DRIVER (a program of theirs was refused; of others that is only logged), GPU_LOST, NO_MEMORY.
bool gi_session_prepare(struct glinfer_session *session, uint32_t tables,
                        glinfer_progress_fn progress, void *user, struct glinfer_error *err);
// Records those of a set that are not, and builds nothing.
bool gi_session_record(struct glinfer_session *session, uint32_t tables, struct glinfer_error *err);
// Returns the table of a decode step, or NULL if it was not recorded yet.
const struct gi_dispatch_table *gi_session_recorded_step(const struct glinfer_session *session,
                                                         enum gi_step_end end);
// Begins to compile, once and without waiting, what greedy and sampled answers may need yet: for a session whose
// generations are of more than one kind. Does nothing where the driver has no threads for it. Fails with GPU_LOST.
bool gi_session_prepare_rest(struct glinfer_session *session, struct glinfer_error *err);

void gi_session_destroy_tables(struct glinfer_session *session);

#endif
