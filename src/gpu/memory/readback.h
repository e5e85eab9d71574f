// Reads results back from hot buffers: copies them after the work that produces them, and fetches
// the copy when the GPU is done.
#pragma once

#include "gpu/device/fence.h"
#include "gpu/memory/buffer.h"
#include "gpu/memory/copy_log.h"

// A staging buffer for results: copies are submitted after the work, and the bytes are there after
// wait.
struct gi_readback {
    struct gi_buffer staging;
    struct gi_fence fence;
    uint64_t size; // of the last copies together
    void *data;    // host copy, capacity bytes
    uint64_t capacity;
    struct gi_copy_samples samples; // of copies before its end
};
bool gi_readback_init(struct gi_readback *readback, struct gi_gpu *gpu, uint64_t capacity,
                      struct glinfer_error *err);
void gi_readback_finish(struct gi_readback *readback, struct gi_gpu *gpu);
// Begin starts a new set of copies, add appends a range to it, end closes it with a fence and
// flushes. A copy of results that do not tell themselves whether they are new is added checked.
void gi_readback_begin(struct gi_readback *readback);
void gi_readback_add(struct gi_readback *readback, struct gi_gpu *gpu,
                     const struct gi_buffer *source, uint64_t offset, uint64_t size);
void gi_readback_add_checked(struct gi_readback *readback, struct gi_gpu *gpu,
                             const struct gi_buffer *source, uint64_t offset, uint64_t size);
bool gi_readback_end(struct gi_readback *readback, struct gi_gpu *gpu, struct glinfer_error *err);
// Waits (one wait) and returns the bytes in the order of the adds, valid until the next begin; NULL
// on failure: GPU_LOST, also where a copy before the end was lost, DRIVER.
const void *gi_readback_wait(struct gi_readback *readback, struct gi_gpu *gpu,
                             struct glinfer_error *err);
