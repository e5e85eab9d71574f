// The joint chains of a group of sessions (engine/session/session_group.h): answers that decode at
// the same time by glinfer_step share their steps. answer.c advances each answer and calls this
// module where it would submit or retire a chain. A chain begins after all ready answers have
// delivered their tokens, or earlier if the GPU need not wait for the host. Answers join and leave
// between two chains. The context is entered.
#pragma once

#include "engine/answer/answer.h"

struct gi_joint_run;

// Prepares the lists for joint steps of this answer with the answers in progress. Does nothing in a
// group of one. Fails as gi_joint_tables_step, and with NO_MEMORY.
bool gi_joint_run_prepare(struct gi_answer *answer);

// Returns true if the answer's next chain is a joint one, or its latest joint chain is not retired.
bool gi_joint_run_suits(const struct gi_answer *answer);
// Submits or retires the next chain, or sets is_waiting. Sets *has_landed if answer->landing holds
// the results of a chain. Fails with GPU_LOST, NO_MEMORY, and as gi_host_sample_choose does.
bool gi_joint_run_advance(struct gi_answer *answer, bool *has_landed);
// Removes an answer that ends from the joint chains; the others continue.
void gi_joint_run_leave(const struct gi_answer *answer);

// Sets the clock time at which submissions of the session's group pause; 0: never.
void gi_joint_run_set_pause(struct glinfer_session *session, uint64_t ns);
// Returns the clock time at which an answer that waits for the GPU can continue; 0: it does not
// wait.
uint64_t gi_joint_run_expected(const struct gi_answer *answer);

//-- times -----------------------------------------------------------------------------------------

// Measured times of steps. Those of one row and of several rows are kept apart, since answers come
// and go between chains.
struct gi_joint_times {
    uint64_t step_ns[2]; // with several rows, with one row; 0: unknown
    uint64_t shared_ns;  // clock time when the one with several rows was measured; 0: not yet
    uint64_t polled_ns;  // clock time when the GPU was last seen busy
    uint64_t last_ns;    // clock time when the GPU was last seen idle
    uint32_t n_late;     // late ends of chains with several rows, while it is unknown
    bool is_end_seen;
};

// Returns true if the bit set of slots has at most one slot.
static inline bool gi_joint_is_lone(uint32_t set)
{
    return (set & (set - 1)) == 0;
}

// Divides the time of a chain that has just been seen to end among its steps. A time whose end was
// seen late is an upper bound: it replaces longer ones, and where none is known the least of four
// is taken.
void gi_joint_times_learn(struct gi_joint_times *times, bool is_lone, uint64_t begin_ns,
                          uint64_t now, uint32_t n_steps);

// Returns the time of a step with several rows; 0: unknown, or unfit to decide against joint steps,
// since few ends were seen in time or it was measured over four seconds ago, when the GPU may have
// been slow.
uint64_t gi_joint_times_shared(const struct gi_joint_times *times, uint64_t now);
