
#include "gpu/device/fence.h"

#include "base/clock.h"
#include "gpu/device/gpu_private.h"

#include <time.h>

#define SECOND_NS UINT64_C(1000000000)
// Waits are cut into slices: a reset is looked for between them, and whether the call is cancelled.
#define SLICE_NS         (200 * UINT64_C(1000000))
#define WATCHED_SLICE_NS (10 * UINT64_C(1000000))
// Times that work may take longer than expected before the GPU is given up.
#define PATIENCE 20

void gi_gpu_flush(struct gi_gpu *gpu)
{
    if (!gpu->class->merges_flushes || !gi_platform_submit(gpu->platform)) {
        glFlush();
    }
}

int gi_gpu_fence_fd(struct gi_gpu *gpu)
{
    return gi_platform_fence_fd(gpu->platform);
}

atomic_bool *gi_gpu_watch(struct gi_gpu *gpu, atomic_bool *flag)
{
    atomic_bool *before = gpu->cancel;
    gpu->cancel = flag;
    return before;
}

bool gi_gpu_is_cancelled(struct gi_gpu *gpu, struct glinfer_error *err)
{
    return gpu->cancel && atomic_exchange(gpu->cancel, false) &&
           !gi_error_set(err, GLINFER_STATUS_CANCELLED, "the call was cancelled");
}

bool gi_fence_insert(struct gi_gpu *gpu, struct gi_fence *fence, struct glinfer_error *err)
{
    gi_fence_finish(gpu, fence);
    fence->sync = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    if (!fence->sync) {
        return gi_gpu_check(gpu, "inserting a fence", err) &&
               gi_error_set(err, GLINFER_STATUS_DRIVER, "%s gives no fence",
                            gi_gpu_platform(gpu)->renderer);
    }
    return true;
}

bool gi_fence_is_done(struct gi_gpu *gpu, const struct gi_fence *fence)
{
    (void)gpu;
    if (!fence->sync) {
        return true;
    }
    GLenum status = glClientWaitSync(fence->sync, GL_SYNC_FLUSH_COMMANDS_BIT, 0);
    return status == GL_ALREADY_SIGNALED || status == GL_CONDITION_SATISFIED;
}

// A software renderer cannot be reset, and may compile for minutes on a busy machine before it
// computes.
static uint64_t default_timeout(const struct gi_gpu *gpu, const struct gi_fence *fence)
{
    const uint64_t least = (gi_gpu_platform(gpu)->is_software ? 1800 : 60) * SECOND_NS;
    return least + PATIENCE * fence->expected_ns;
}

static bool wait_slices(struct gi_gpu *gpu, struct gi_fence *fence, uint64_t timeout_ns,
                        struct glinfer_error *err)
{
    const struct timespec pause = {.tv_nsec = 500000};
    const uint64_t most = gpu->cancel ? WATCHED_SLICE_NS : SLICE_NS;
    uint64_t start = gi_clock_ns(), passed = 0;
    while (passed < timeout_ns) {
        if (gi_gpu_is_cancelled(gpu, err)) {
            return false;
        }
        uint64_t slice = timeout_ns - passed < most ? timeout_ns - passed : most;
        GLenum status = glClientWaitSync(fence->sync, GL_SYNC_FLUSH_COMMANDS_BIT, slice);
        if (status == GL_ALREADY_SIGNALED || status == GL_CONDITION_SATISFIED) {
            return true;
        }
        if (status == GL_WAIT_FAILED) {
            return gi_gpu_check(gpu, "waiting for a fence", err) &&
                   gi_gpu_lose(gpu, "waiting for a fence", "the wait failed", err);
        }
        uint64_t now = gi_clock_ns() - start;
        if (now - passed < slice / 2) {
            nanosleep(&pause, NULL); // the driver came back at once although nothing is done
        } else if (!gi_gpu_check(gpu, "waiting for a fence", err)) {
            return false;
        }
        passed = now;
    }
    return gi_gpu_lose(gpu, "waiting for a fence", "the GPU did not finish in time", err);
}

bool gi_fence_wait(struct gi_gpu *gpu, struct gi_fence *fence, uint64_t timeout_ns,
                   struct glinfer_error *err)
{
    if (gpu->is_lost) {
        return gi_gpu_lose(gpu, "waiting for a fence", "the GPU was lost before", err);
    }
    gpu->counts.n_waits++;
    return gi_fence_is_done(gpu, fence) ||
           wait_slices(gpu, fence, timeout_ns ? timeout_ns : default_timeout(gpu, fence), err);
}

bool gi_fence_poll(struct gi_gpu *gpu, const struct gi_fence *fence, uint64_t since_ns,
                   bool *is_done, struct glinfer_error *err)
{
    *is_done = !gpu->is_lost && gi_fence_is_done(gpu, fence);
    if (*is_done) {
        return true;
    }
    return gi_gpu_check(gpu, "looking at a fence", err) &&
           (gi_clock_ns() - since_ns < default_timeout(gpu, fence) ||
            gi_gpu_lose(gpu, "looking at a fence", "the GPU did not finish in time", err));
}

void gi_fence_finish(struct gi_gpu *gpu, struct gi_fence *fence)
{
    (void)gpu;
    if (fence->sync) {
        glDeleteSync(fence->sync);
    }
    *fence = (struct gi_fence){0};
}

// Waits for a fence, not by glFinish: a GPU that hangs must not hang the caller.
bool gi_gpu_finish(struct gi_gpu *gpu, struct glinfer_error *err)
{
    struct gi_fence fence = {0};
    if (!gi_gpu_check(gpu, "waiting for the GPU", err) || !gi_fence_insert(gpu, &fence, err)) {
        return false;
    }
    const bool is_done = gi_fence_wait(gpu, &fence, 0, err);
    gi_fence_finish(gpu, &fence);
    return is_done && gi_gpu_check(gpu, "waiting for the GPU", err);
}
