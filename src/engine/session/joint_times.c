#include "engine/session/joint_times.h"

void gi_joint_times_learn(struct gi_joint_times *times, const struct gi_polls *polls, bool is_lone,
                          uint64_t begin_ns, uint64_t now, uint32_t n_steps)
{
    enum { LATE_CHAINS = 4 }; // the least of their times is close to that of the GPU
    const bool is_open = !is_lone && gi_joint_times_shared(times, now) == 0;
    uint64_t *known = &times->step_ns[is_lone];
    const bool is_behind = times->is_end_seen && times->last_ns > begin_ns;
    const uint64_t begin = is_behind ? times->last_ns : begin_ns;
    const uint64_t ns = now > begin ? now - begin : 1, step_ns = ns / n_steps;
    times->is_end_seen = gi_polls_saw_end(polls, now, ns);
    const bool is_exact = times->is_end_seen && (is_behind || times->last_ns <= begin_ns);
    *known =
        gi_polls_learn(polls, now, *known, step_ns, is_exact || (is_open && times->n_late == 0));
    times->n_late += is_open;
    if (!is_lone && (is_exact || times->n_late == LATE_CHAINS)) {
        times->shared_ns = now;
        times->n_late = 0;
    }
    times->last_ns = now;
}

uint64_t gi_joint_times_shared(const struct gi_joint_times *times, uint64_t now)
{
    const uint64_t kept_ns = 500000000;
    return times->shared_ns > 0 && now - times->shared_ns < kept_ns ? times->step_ns[0] : 0;
}
