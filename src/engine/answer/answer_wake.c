#include "engine/answer/answer_wake.h"

#include "base/clock.h"
#include "base/round.h"
#include "engine/answer/joint_run.h"
#include "engine/device/wake.h"

#define MS UINT64_C(1000000)
// Minimum and maximum polling interval for a GPU without exported fences.
#define LEAST_POLL_NS (MS / 10)
#define MOST_POLL_NS  (MS / 2)
// The GPU is polled if a fence is this late after the expected end of its chain.
#define FENCE_MARGIN_NS (20 * MS)

// Adds the fence of a session's oldest chain to the set. Returns true if the set contains it.
static bool watch(const struct glinfer_device *device, struct gi_answer *answer)
{
    const int fd = gi_runner_fence_fd(&answer->session->runner);
    if (answer->watched_fd < 0 && gi_wake_watch(device, fd)) {
        answer->watched_fd = fd;
    }
    return answer->watched_fd >= 0;
}

void gi_answers_forget_wake(const struct glinfer_device *device)
{
    for (const struct glinfer_model *model = device->models; model; model = model->next) {
        for (const struct glinfer_session *s = model->sessions; s; s = s->next) {
            if (s->answer && s->answer->watched_fd >= 0) {
                gi_wake_forget(device, s->answer->watched_fd);
                s->answer->watched_fd = -1;
            }
        }
    }
}

// Returns the clock time at which to poll the oldest chain of a runner: half of its time before its
// expected end, since the time may be shorter than expected, and from then on at intervals.
static uint64_t find_poll(struct gi_runner *runner, uint64_t now)
{
    const uint64_t half = gi_runner_oldest_steps(runner) * runner->step_ns / 2;
    const uint64_t due = gi_runner_expected(runner);
    runner->polls.early_ns = due > now + half ? due - half : 0;
    return due > now + half           ? due - half
           : half / 4 < LEAST_POLL_NS ? now + LEAST_POLL_NS
           : half / 4 > MOST_POLL_NS  ? now + MOST_POLL_NS
                                      : now + half / 4;
}

// Returns the clock time at which an answer can continue unless a fence wakes it before; 0: now.
static uint64_t find_wake(const struct glinfer_device *device, struct gi_answer *answer)
{
    struct gi_runner *runner = &answer->session->runner;
    const uint64_t now = gi_clock_ns();
    if (!answer->is_waiting) {
        return 0;
    }
    if (now < answer->clock.rest_until) {
        return answer->clock.rest_until;
    }
    struct gi_runner *joint = gi_joint_run_awaited(answer);
    if (joint) {
        return find_poll(joint, now);
    }
    if (runner->n_flights == 0 || answer->open.executor) {
        return gi_gpu_platform(device->gpu)->is_software ? 0 : now + MOST_POLL_NS;
    }
    if (watch(device, answer)) {
        return gi_max_u64(gi_runner_expected(runner), now) + FENCE_MARGIN_NS;
    }
    return find_poll(runner, now);
}

void gi_answers_set_wake(const struct glinfer_device *device)
{
    uint64_t first = UINT64_MAX;
    if (device->wake_fd < 0) {
        return;
    }
    for (const struct glinfer_model *model = device->models; model; model = model->next) {
        for (const struct glinfer_session *s = model->sessions; s; s = s->next) {
            const uint64_t wake = s->answer ? find_wake(device, s->answer) : UINT64_MAX;
            first = wake < first ? wake : first;
        }
    }
    gi_wake_set(device, first);
}
