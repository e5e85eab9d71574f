// The joint chains of a group of sessions (engine/run/session_group.h): answers in steps that
// decode at the same time take their steps together. Each keeps its own course (answer.c): where
// it would submit or take a chain of its own, it takes its turn here. A chain begins once all
// answers that are ready have delivered their tokens or, where the GPU need not wait for the host,
// while they do; an answer joins and leaves between two chains. The context is entered.
#ifndef GI_ENGINE_JOINT_RUN_H
#define GI_ENGINE_JOINT_RUN_H

#include "engine/answer/answer.h"

struct gi_joint_run;

// Makes ready what joint steps of an answer take, together with the answers under way. Does nothing
// in a group of one. Fails as gi_joint_tables_step, and with NO_MEMORY.
bool gi_joint_run_prepare(struct gi_answer *answer);
// Accepts NULL; waits for nothing.
void gi_joint_run_destroy(struct gi_joint_run *joint);

// True if the next chain of an answer is a joint one, or the latest was and is not taken yet.
bool gi_joint_run_suits(const struct gi_answer *answer);
// Submits or takes what comes next, or sets is_waiting. Sets *has_landed if the answer has a chain
// to look at, in answer->landing. Fails with GPU_LOST, NO_MEMORY, and with what the host's choice
// of the answer's token fails with.
bool gi_joint_run_advance(struct gi_answer *answer, bool *has_landed);
// Forgets an answer that ends; others go on.
void gi_joint_run_leave(const struct gi_answer *answer);

// Sets the time of the clock at which submissions of the session's group pause; 0: none.
void gi_joint_run_set_pause(struct glinfer_session *session, uint64_t ns);
// Returns the time of the clock at which an answer that waits for others can go on; 0: it does not
// wait for the GPU.
uint64_t gi_joint_run_expected(const struct gi_answer *answer);

//-- times -----------------------------------------------------------------------------------------

// Keeps what a step takes: one row and several are known by themselves, since answers come and go
// between chains.
struct gi_joint_times {
    uint64_t step_ns[2]; // with several rows, with one; 0: not known
    uint64_t polled_ns;  // time of the clock when the GPU was last seen at work,
    uint64_t last_ns;    // and done
    bool is_end_seen;
};

// True if a set of slots, as bits, has one row.
static inline bool gi_joint_is_lone(uint32_t set)
{
    return (set & (set - 1)) == 0;
}

// Takes the time of a chain that was seen to be done now as that of its steps, as long as its end
// was seen or it took less.
void gi_joint_times_learn(struct gi_joint_times *times, bool is_lone, uint64_t begin_ns,
                          uint64_t now, uint32_t n_steps);

#endif
