#include "engine/generate/joint_times.h"

void gi_joint_times_learn(struct gi_joint_times *times, bool is_lone, uint64_t begin_ns,
                          uint64_t now, uint32_t n_steps)
{
    uint64_t *known = &times->step_ns[is_lone];
    const uint64_t begin =
        times->is_end_seen && times->last_ns > begin_ns ? times->last_ns : begin_ns;
    const uint64_t ns = now > begin ? now - begin : 1, step_ns = ns / n_steps;
    times->is_end_seen = (now - times->polled_ns) * 4 < ns;
    if (times->is_end_seen || *known == 0 || step_ns < *known) {
        *known = step_ns;
    }
    times->last_ns = now;
}
