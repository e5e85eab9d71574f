// Measured times of joint steps (engine/answer/joint_run.h), by which answers choose between those
// and turns.
#pragma once

#include "gpu/dispatch/runner.h"

// Measured times of steps. Those of one row and of several rows are kept apart, since answers come
// and go between chains.
struct gi_joint_times {
    uint64_t step_ns[2]; // with several rows, with one row; 0: unknown
    uint64_t shared_ns;  // clock time when the one with several rows was measured; 0: not yet
    uint32_t n_late;     // late ends of chains with several rows, while it is unknown
};

// Returns true if the bit set of slots has at most one slot.
static inline bool gi_joint_is_lone(uint32_t set)
{
    return (set & (set - 1)) == 0;
}

// Divides the time of a chain that was taken among its steps, and sets landing->step_ns. An upper
// bound, such as that of a short chain with several rows, replaces longer times, and where none is
// known the least of four is taken.
void gi_joint_times_learn(struct gi_joint_times *times, struct gi_landing *landing);

// Returns the time of a step with several rows; 0: unknown, or unfit to decide against joint steps,
// since few ends were seen in time or it was measured over half a second ago, when the GPU may have
// been slow.
uint64_t gi_joint_times_shared(const struct gi_joint_times *times, uint64_t now);
