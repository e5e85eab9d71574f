// The joint chains of a group of sessions (engine/session/session_group.h): answers that decode at
// the same time by glinfer_step share their steps. answer.c advances each answer and calls this
// module where it would submit or retire a chain. A chain begins after all ready answers have
// delivered their tokens, or earlier if the GPU need not wait for the host, and after chains of
// their own. Answers join and leave between two chains. The context is entered.
#pragma once

#include "engine/answer/answer.h"

struct gi_joint_run;

// Prepares the list for joint steps of this session and chooses its executor, as
// gi_joint_executors_prepare does. Does nothing in a group of one. Fails as gi_joint_tables_step,
// and with NO_MEMORY, CANCELLED.
bool gi_joint_run_prepare_session(struct glinfer_session *session, enum gi_step_end end,
                                  bool is_patient, glinfer_progress_fn progress, void *user,
                                  struct glinfer_error *err);
// Prepares the lists for joint steps of this answer with the answers in progress. Fails as
// gi_joint_run_prepare_session.
bool gi_joint_run_prepare(struct gi_answer *answer);

// Returns true if the answer's next chain is a joint one, or its latest joint chain is not retired.
bool gi_joint_run_suits(const struct gi_answer *answer);
// Submits or retires the next chain, or sets is_waiting. Sets *has_landed if answer->landing holds
// the results of a chain, or a fault: the answer continues after its last token. Fails with
// GPU_LOST, NO_MEMORY, and as gi_host_sample_choose does.
bool gi_joint_run_advance(struct gi_answer *answer, bool *has_landed);
// Removes an answer that ends from the joint chains; the others continue.
void gi_joint_run_leave(const struct gi_answer *answer);

// Compiles the missing program of joint steps with the answer's end in the background, after it.
void gi_joint_run_request(const struct gi_answer *answer);

// Sets the clock time at which submissions of the session's group pause; 0: never.
void gi_joint_run_set_pause(struct glinfer_session *session, uint64_t ns);
// Returns the runner of the joint chains that an answer waits for; NULL: it waits for none.
struct gi_runner *gi_joint_run_awaited(const struct gi_answer *answer);
