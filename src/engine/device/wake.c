#include "engine/device/wake.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

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

bool gi_wake_watch(const struct glinfer_device *device, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return fd >= 0 && epoll_ctl(device->wake_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void gi_wake_forget(const struct glinfer_device *device, int fd)
{
    epoll_ctl(device->wake_fd, EPOLL_CTL_DEL, fd, NULL);
}

void gi_wake_set(const struct glinfer_device *device, uint64_t at_ns)
{
    const uint64_t now = gi_clock_ns();
    const uint64_t left = at_ns == UINT64_MAX ? 0 : at_ns > now ? at_ns - now : 1;
    const struct itimerspec timer = {.it_value = {.tv_sec = (time_t)(left / (1000 * MS)),
                                                  .tv_nsec = (long)(left % (1000 * MS))}};
    timerfd_settime(device->timer_fd, 0, &timer, NULL);
}
