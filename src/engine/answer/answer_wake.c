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

// Returns the interval at which to poll for the end of what takes about ns.
static uint64_t find_interval(uint64_t ns)
{
    return ns / 8 < LEAST_POLL_NS ? LEAST_POLL_NS : ns / 8 > MOST_POLL_NS ? MOST_POLL_NS : ns / 8;
}

// Returns the clock time at which to poll the oldest chain of a runner: half of its time before its
// expected end, since the time may be shorter than expected, then at intervals, which grow with a
// prompt before it.
static uint64_t find_poll(struct gi_runner *runner, uint64_t now)
{
    uint64_t ns;
    const uint64_t begin = gi_runner_expected(runner, &ns), early = begin + ns / 2;
    const uint64_t late = now > begin + ns ? (now - begin - ns) / 8 : 0;
    runner->polls.early_ns = early > now ? early : 0;
    return early > now ? early : now + gi_max_u64(find_interval(ns), late < MS ? late : MS);
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
        const bool is_joint = gi_joint_run_suits(answer); // another's chain wakes it, too
        const uint64_t interval =
            is_joint ? MOST_POLL_NS : find_interval(gi_time_box_expected(&runner->box));
        return gi_gpu_platform(device->gpu)->is_software ? 0 : now + interval;
    }
    if (watch(device, answer)) {
        uint64_t ns;
        return gi_max_u64(gi_runner_expected(runner, &ns) + ns, now) + FENCE_MARGIN_NS;
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
