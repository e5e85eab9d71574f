// The upgrades of a session: its greedy and sampled decode steps taken over to the persistent
// executor where that is to be had (persistent/persistent_upgrade.h).
#ifndef GI_ENGINE_STEP_EXECUTORS_H
#define GI_ENGINE_STEP_EXECUTORS_H

#include "engine/run/session.h"

// Creates them; does nothing else. Fails with NO_MEMORY.
bool gi_step_executors_open(struct glinfer_session *session, struct glinfer_error *err);
void gi_step_executors_close(struct glinfer_session *session);

// Before an answer that ends its steps so: gi_upgrade_prepare, from where the sequence is. progress
// may be NULL.
bool gi_step_executors_prepare(struct glinfer_session *session, enum gi_step_end end,
                               bool is_patient, glinfer_progress_fn progress, void *user,
                               struct glinfer_error *err);
// Behind an answer: has a missing program compiled in the background.
void gi_step_executors_request(struct glinfer_session *session, enum gi_step_end end);
// Forgets the chains in flight. If one of them was given up, or is_faulty says so of one before,
// every answer of the session goes on without. Fails with GPU_LOST.
bool gi_step_executors_settle(struct glinfer_session *session, bool is_faulty,
                              struct glinfer_error *err);

// Returns the executor of steps that end so, the multi-dispatch one made ready if it is not; NULL
// with what that fails with.
struct gi_executor *gi_step_executors_find(struct glinfer_session *session, enum gi_step_end end,
                                           struct glinfer_error *err);
// Returns how such steps are submitted once an answer begins, as far as that is known; times of a
// step (ns) by many dispatches and in one, 0 if they were never compared.
enum glinfer_dispatch gi_step_executors_recall(struct glinfer_session *session,
                                               enum gi_step_end end, uint64_t *multi_ns,
                                               uint64_t *single_ns);

#endif
