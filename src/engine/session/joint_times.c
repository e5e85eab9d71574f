#include "engine/session/joint_times.h"

void gi_joint_times_learn(struct gi_joint_times *times, struct gi_landing *landing)
{
    enum { LATE_CHAINS = 4, SHORT_NS = 2500000 }; // the least of four is close to that of the GPU
    struct gi_chain_time *time = &landing->time;
    const bool is_lone = gi_joint_is_lone(landing->joint.live);
    const bool is_open = !is_lone && gi_joint_times_shared(times, time->end_ns) == 0;
    const uint64_t step_ns = time->ns / landing->n_steps;
    uint64_t *known = &times->step_ns[is_lone];
    time->is_exact = time->is_exact && (is_lone || time->ns >= SHORT_NS);
    *known = is_open && times->n_late == 0 ? step_ns : gi_chain_time_learn(time, *known, step_ns);
    landing->step_ns = *known;
    times->n_late += is_open;
    if (!is_lone && (time->is_exact || times->n_late == LATE_CHAINS)) {
        times->shared_ns = time->end_ns;
        times->n_late = 0;
    }
}

uint64_t gi_joint_times_shared(const struct gi_joint_times *times, uint64_t now)
{
    const uint64_t kept_ns = 500000000;
    return times->shared_ns > 0 && now - times->shared_ns < kept_ns ? times->step_ns[0] : 0;
}
