#include "engine/device/wake.h"

#include "base/clock.h"
#include "engine/answer/joint_run.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
// Minimum and maximum polling interval for a GPU without exported fences.
#define LEAST_POLL_NS (MS / 10)
#define MOST_POLL_NS  (MS / 2)
// The GPU is polled if a fence is this late after the expected end of its chain.
#define FENCE_MARGIN_NS (20 * MS)

bool gi_wake_open(struct glinfer_device *device, struct glinfer_error *err)
{
    if (device->wake_fd >= 0) {
        return true;
    }
    device->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    device->wake_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (device->timer_fd < 0 || device->wake_fd < 0 ||
        epoll_ctl(device->wake_fd, EPOLL_CTL_ADD, device->timer_fd, &event) != 0) {
        const int error = errno;
        gi_wake_close(device);
        return gi_error_set(err, GLINFER_STATUS_IO,
                            "cannot create the timer of the device's descriptor: %s",
                            strerror(error));
    }
    return true;
}

void gi_wake_close(struct glinfer_device *device)
{
    if (device->wake_fd >= 0) {
        close(device->wake_fd);
    }
    if (device->timer_fd >= 0) {
        close(device->timer_fd);
    }
    device->wake_fd = device->timer_fd = -1;
}

//-- fences ----------------------------------------------------------------------------------------

// Adds the fence of a session's oldest chain to the set. Returns true if the set contains it.
static bool watch(const struct glinfer_device *device, struct gi_answer *answer)
{
    struct epoll_event event = {.events = EPOLLIN};
    const int fd = gi_runner_fence_fd(&answer->session->runner);
    if (answer->watched_fd < 0 && fd >= 0 &&
        epoll_ctl(device->wake_fd, EPOLL_CTL_ADD, fd, &event) == 0) {
        answer->watched_fd = fd;
    }
    return answer->watched_fd >= 0;
}

void gi_wake_forget(const struct glinfer_device *device)
{
    for (const struct glinfer_model *model = device->models; model; model = model->next) {
        for (const struct glinfer_session *s = model->sessions; s; s = s->next) {
            if (s->answer && s->answer->watched_fd >= 0) {
                epoll_ctl(device->wake_fd, EPOLL_CTL_DEL, s->answer->watched_fd, NULL);
                s->answer->watched_fd = -1;
            }
        }
    }
}

//-- the timer -------------------------------------------------------------------------------------

// Returns the clock time at which an answer can continue unless a fence wakes it before; 0: now.
static uint64_t find_wake(const struct glinfer_device *device, struct gi_answer *answer)
{
    const struct gi_runner *runner = &answer->session->runner;
    const uint64_t now = gi_clock_ns();
    if (!answer->is_waiting) {
        return 0;
    }
    if (now < answer->clock.rest_until) {
        return answer->clock.rest_until;
    }
    const uint64_t joint = gi_joint_run_expected(answer);
    if (joint > 0) {
        return joint > now ? joint : now + MOST_POLL_NS;
    }
    if (runner->n_flights == 0 || answer->open.executor) {
        return gi_gpu_platform(device->gpu)->is_software ? 0 : now + MOST_POLL_NS;
    }
    const uint64_t due = gi_runner_expected(runner);
    if (watch(device, answer)) {
        return (due > now ? due : now) + FENCE_MARGIN_NS;
    }
    const uint64_t poll = gi_runner_oldest_steps(runner) * runner->step_ns / 8;
    return due > now              ? due
           : poll < LEAST_POLL_NS ? now + LEAST_POLL_NS
           : poll > MOST_POLL_NS  ? now + MOST_POLL_NS
                                  : now + poll;
}

void gi_wake_set(const struct glinfer_device *device)
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
    const uint64_t now = gi_clock_ns();
    const uint64_t left = first == UINT64_MAX ? 0 : first > now ? first - now : 1;
    const struct itimerspec timer = {.it_value = {.tv_sec = (time_t)(left / (1000 * MS)),
                                                  .tv_nsec = (long)(left % (1000 * MS))}};
    timerfd_settime(device->timer_fd, 0, &timer, NULL);
}
