// Measured times of joint steps (engine/answer/joint_run.h), by which answers choose between those
// and turns.
#pragma once

#include "gpu/dispatch/runner.h"

// Measured times of steps. Those of one row and of several rows are kept apart, since answers come
// and go between chains.
struct gi_joint_times {
    uint64_t step_ns[2]; // with several rows, with one row; 0: unknown
    uint64_t shared_ns;  // clock time when the one with several rows was measured; 0: not yet
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
// seen late, or that began with the end of another that was, is an upper bound: it replaces longer
// ones, and where none is known the least of four is taken.
void gi_joint_times_learn(struct gi_joint_times *times, const struct gi_polls *polls, bool is_lone,
                          uint64_t begin_ns, uint64_t now, uint32_t n_steps);

// Returns the time of a step with several rows; 0: unknown, or unfit to decide against joint steps,
// since few ends were seen in time or it was measured over half a second ago, when the GPU may have
// been slow.
uint64_t gi_joint_times_shared(const struct gi_joint_times *times, uint64_t now);
