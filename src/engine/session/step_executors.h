// The executors of a session's decode steps, one for each end. Steps begin with the multi-dispatch
// executor. A faster executor, which takes longer to compile, replaces it between two answers; if
// that one gives up a chain, the multi-dispatch executor continues.
#pragma once

#include "engine/session/session.h"

// Sets the gpu's preferences for the executors that the device may use. Warns of settings that it
// cannot apply.
void gi_step_executors_prepare_gpu(struct gi_gpu *gpu);
// Returns the folder of files cached for executors, owned by the caller; NULL: none.
char *gi_step_executors_folder(const char *cache_dir);
// Returns a bit set of enum glinfer_dispatch: the ways in which steps may be submitted.
uint32_t gi_step_executors_ways(const struct gi_gpu *gpu);

// Creates session->step_executors without choosing one. Fails with NO_MEMORY.
bool gi_step_executors_open(struct glinfer_session *session, struct glinfer_error *err);
void gi_step_executors_close(struct glinfer_session *session);

// Chooses the executor for steps of this end before an answer: takes a cached program and tries it
// out within a time box at the sequence's position. With is_patient it compiles and measures for as
// long as needed. progress may be NULL. Fails with CANCELLED, GPU_LOST.
bool gi_step_executors_prepare(struct glinfer_session *session, enum gi_step_end end,
                               bool is_patient, glinfer_progress_fn progress, void *user,
                               struct glinfer_error *err);
// Begins to compile a missing program in the background, after an answer.
void gi_step_executors_request(struct glinfer_session *session, enum gi_step_end end);
// Discards the chains in flight. If one was given up, or is_faulty reports an earlier one, all
// further answers of the session use the multi-dispatch executor. Fails with GPU_LOST.
bool gi_step_executors_settle(struct glinfer_session *session, bool is_faulty,
                              struct glinfer_error *err);

// Returns the chosen executor, prepared on first use. Returns NULL on an error of preparing it.
struct gi_executor *gi_step_executors_find(struct glinfer_session *session, enum gi_step_end end,
                                           struct glinfer_error *err);
// Returns the executor of steps up to their logits, if its chains have no tail. It is prepared and
// requested as that of GI_STEP_LOGITS.
#define GI_STEP_LOGITS GI_STEP_END_FULL
struct gi_executor *gi_step_executors_find_logits(struct glinfer_session *session,
                                                  struct glinfer_error *err);
// Returns the way in which such steps will be submitted, as far as it is known, and sets step_ns as
// in struct glinfer_prepared.
enum glinfer_dispatch gi_step_executors_recall(struct glinfer_session *session,
                                               enum gi_step_end end,
                                               double step_ns[GLINFER_DISPATCH_WAYS]);
// Returns true if such steps are submitted as one dispatch, and sets the times of a step by many
// dispatches and by one, in nanoseconds; 0: not measured. If a step has taken less than half
// since they were compared, the GPU was slow then, and both are scaled to it.
bool gi_step_executors_is_one(const struct glinfer_session *session, enum gi_step_end end,
                              uint64_t *multi_ns, uint64_t *one_ns);
// Returns the cache key of the verdicts on such steps; NULL: none. For tests.
const struct gi_hash *gi_step_executors_key(struct glinfer_session *session, enum gi_step_end end);

//-- joint steps -----------------------------------------------------------------------------------

// The executors of a group's joint steps: their lists (engine/lists/joint_tables.h) or, in f16, one
// dispatch for the layers of all slots between two short lists.
struct gi_joint_executors;

// Creates the executors of a group without choosing any. runner: of its joint chains. NULL with
// NO_MEMORY.
struct gi_joint_executors *gi_joint_executors_create(struct gi_session_group *group,
                                                     struct gi_runner *runner,
                                                     struct glinfer_error *err);
// Accepts NULL.
void gi_joint_executors_destroy(struct gi_joint_executors *executors);

// Chooses the executor of joint steps with this end, after the list of all slots was prepared,
// unless another session than `own` has an answer in progress, whose state trials would change.
// With is_patient compiles the program; progress may be NULL. The states of all slots, and the
// list's own, are to be written again. Fails with CANCELLED, GPU_LOST.
bool gi_joint_executors_prepare(struct gi_joint_executors *executors,
                                const struct glinfer_session *own, enum gi_step_end end,
                                bool is_patient, glinfer_progress_fn progress, void *user,
                                struct glinfer_error *err);
// Returns the executor of a bit set of slots, as gi_joint_tables_step does. Nothing is being
// submitted: lists that are stale are recorded again.
struct gi_executor *gi_joint_executors_find(struct gi_joint_executors *executors, uint32_t set,
                                            enum gi_step_end end, struct glinfer_error *err);
// Compiles a missing program in the background, if steps of step_ns may become faster.
void gi_joint_executors_request(struct gi_joint_executors *executors, enum gi_step_end end,
                                uint64_t step_ns);
// Abandons all programs after a fault. Fails with GPU_LOST.
bool gi_joint_executors_give_up(struct gi_joint_executors *executors, struct glinfer_error *err);
