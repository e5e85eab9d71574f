// Points in the command stream of a gpu, and everything that waits for them: asleep, looking for
// resets and for a cancelled call meanwhile.
#pragma once

#include "gpu/device/gpu.h"

// A point in the command stream. Zero-initialised, or finished, means none.
struct gi_fence {
    void *sync;
    uint64_t expected_ns; // estimated GPU time up to it, said after insert; 0: not known
};
bool gi_fence_insert(struct gi_gpu *gpu, struct gi_fence *fence, struct glinfer_error *err);
bool gi_fence_is_done(struct gi_gpu *gpu, const struct gi_fence *fence);
// Blocks (asleep) until the point is reached; fails with GPU_LOST after timeout_ns (0: a minute
// more than many times what is expected) or a reset, with CANCELLED as gi_gpu_watch says.
bool gi_fence_wait(struct gi_gpu *gpu, struct gi_fence *fence, uint64_t timeout_ns,
                   struct glinfer_error *err);
// Sets *is_done without waiting. Fails with GPU_LOST after a reset, or once the point, inserted at
// since_ns of the clock, was not reached in the time that gi_fence_wait gives it.
bool gi_fence_poll(struct gi_gpu *gpu, const struct gi_fence *fence, uint64_t since_ns,
                   bool *is_done, struct glinfer_error *err);
void gi_fence_finish(struct gi_gpu *gpu, struct gi_fence *fence);

// The last chain, in the order of submission, that was taken on a gpu.
struct gi_last_end {
    uint64_t number;      // chains count from 1; 0: there is none
    uint64_t busy_ns, ns; // times of the clock when it had not ended, and when it was taken
};

void gi_gpu_flush(struct gi_gpu *gpu);
// Flushes, and returns a descriptor that is readable once all that was submitted is done; -1: the
// driver has none. The caller closes it.
int gi_gpu_fence_fd(struct gi_gpu *gpu);
// Waits for all that was submitted; counts as a wait.
bool gi_gpu_finish(struct gi_gpu *gpu, struct glinfer_error *err);

// From now on waits for fences and compiling fail with CANCELLED, once, when the flag is set; NULL:
// no longer. flag is borrowed, any thread may set it. Returns what was watched before.
atomic_bool *gi_gpu_watch(struct gi_gpu *gpu, atomic_bool *flag);
// True, with CANCELLED, if the flag is set, which it then no longer is.
bool gi_gpu_is_cancelled(struct gi_gpu *gpu, struct glinfer_error *err);
