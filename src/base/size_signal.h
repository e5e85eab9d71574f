// Writes under a limit of file sizes (ulimit -f). The kernel sends SIGXFSZ to the thread whose
// write goes over the limit, and the signal ends the process. Between hold and release the write
// fails with EFBIG instead.
#pragma once

#include <signal.h>
#include <stdbool.h>

struct gi_size_signal {
    sigset_t before;  // signals that the thread blocked
    bool was_pending; // a signal that came earlier stays pending
};

// Blocks SIGXFSZ in the calling thread.
void gi_size_signal_hold(struct gi_size_signal *held);
// Discards a SIGXFSZ that came since, and restores the signals of the thread. Keeps errno.
void gi_size_signal_release(const struct gi_size_signal *held);
