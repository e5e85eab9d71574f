#include "base/size_signal.h"

#include <errno.h>
#include <time.h>

static sigset_t size_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

void gi_size_signal_hold(struct gi_size_signal *held)
{
    const sigset_t set = size_signal();
    sigset_t pending;
    held->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &set, &held->before);
}

void gi_size_signal_release(const struct gi_size_signal *held)
{
    const sigset_t set = size_signal();
    const struct timespec none = {0, 0};
    const int reason = errno;
    while (!held->was_pending && sigtimedwait(&set, NULL, &none) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
    errno = reason;
}
