// What a step of a joint chain takes: one row and several are known by themselves, since answers
// come and go between chains.
#ifndef GI_JOINT_TIMES_H
#define GI_JOINT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

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
