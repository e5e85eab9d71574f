// The executors of a session's decode steps: chooses which one runs those of an end. Where an
// executor that takes longer to come by is faster, it takes the steps over from the multi-dispatch
// one, between two answers; the multi-dispatch one goes on where it gives a chain up.
#ifndef GI_ENGINE_STEP_EXECUTORS_H
#define GI_ENGINE_STEP_EXECUTORS_H

#include "engine/run/session.h"

struct gi_step_executors;

// Tells a device's gpu what the executors that it may have like. Warns of settings for them that
// are not possible.
void gi_step_executors_prepare_gpu(struct gi_gpu *gpu);
// Returns the folder of what is kept on them, owned by the caller; NULL: there is none.
char *gi_step_executors_folder(const char *cache_dir);
// Returns the ways of enum glinfer_dispatch in which steps may be submitted, as bits.
uint32_t gi_step_executors_ways(const struct gi_gpu *gpu);

// Sets session->step_executors; chooses nothing yet. Fails with NO_MEMORY.
bool gi_step_executors_open(struct glinfer_session *session, struct glinfer_error *err);
void gi_step_executors_close(struct glinfer_session *session);

// Chooses before an answer that ends its steps so, from where the sequence is: takes what is in the
// caches, tried out within a time box. With is_patient compiles and measures for as long as it
// takes. progress may be NULL. Fails with CANCELLED, GPU_LOST.
bool gi_step_executors_prepare(struct glinfer_session *session, enum gi_step_end end,
                               bool is_patient, glinfer_progress_fn progress, void *user,
                               struct glinfer_error *err);
// Behind an answer: has a missing program compiled in the background.
void gi_step_executors_request(struct glinfer_session *session, enum gi_step_end end);
// Forgets the chains in flight. If one of them was given up, or is_faulty says so of one before,
// every answer of the session goes on by many dispatches. Fails with GPU_LOST.
bool gi_step_executors_settle(struct glinfer_session *session, bool is_faulty,
                              struct glinfer_error *err);

// Returns the executor that was chosen, made ready if it is not; NULL with what that fails with.
struct gi_executor *gi_step_executors_find(struct glinfer_session *session, enum gi_step_end end,
                                           struct glinfer_error *err);
// Returns likewise the executor of steps up to their logits, if its chains are without a tail: that
// of GI_STEP_LOGITS, which is to be prepared and requested for them.
#define GI_STEP_LOGITS GI_STEP_END_FULL
struct gi_executor *gi_step_executors_find_logits(struct glinfer_session *session,
                                                  struct glinfer_error *err);
// Returns how such steps are submitted once an answer begins, as far as that is known, and sets
// step_ns as struct glinfer_prepared has it.
enum glinfer_dispatch gi_step_executors_recall(struct glinfer_session *session,
                                               enum gi_step_end end,
                                               double step_ns[GLINFER_DISPATCH_WAYS]);
// Returns the key that verdicts on such steps are kept by; NULL: there is none. For tests.
const struct gi_hash *gi_step_executors_key(struct glinfer_session *session, enum gi_step_end end);

#endif
