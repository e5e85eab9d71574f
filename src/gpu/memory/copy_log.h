// The check that copies between buffers took place. A driver may lose one without an error: after
// each copy a sample of its target is copied into a log, which the next readback fetches and
// compares.
// Owned by the gpu; internal to gpu/, but for gi_copy_log_check.
#pragma once

#include "gpu/device/gpu.h"

#define GI_COPY_LOG_SIZE  (32u << 10) // bytes
#define GI_COPY_LOG_PAIRS 64

// The contents of a log: samples of writes and, of unknown contents, pairs that have to be
// alike, the second directly after the first.
struct gi_copy_samples {
    uint8_t *expected; // GI_COPY_LOG_SIZE bytes
    uint32_t used;     // bytes
    uint32_t n_pairs;
    struct {
        uint32_t at, size;
    } pairs[GI_COPY_LOG_PAIRS];
};

struct gi_copy_log {
    uint32_t name; // of its buffer
    struct gi_copy_samples samples;
};

bool gi_copy_log_init(struct gi_gpu *gpu, struct glinfer_error *err);
void gi_copy_log_finish(struct gi_gpu *gpu);

// Notes that `size` bytes of data (NULL: zeros) were copied to an offset of a buffer. Waits for the
// GPU if the log is full. Fails with GPU_LOST, NO_MEMORY.
bool gi_copy_log_add(struct gi_gpu *gpu, uint32_t buffer, uint64_t offset, const void *data,
                     uint64_t size, struct glinfer_error *err);
// Notes that bytes were copied from one buffer to another. A full log leaves it out.
void gi_copy_log_add_pair(struct gi_gpu *gpu, uint32_t from, uint64_t from_offset, uint32_t to,
                          uint64_t to_offset, uint64_t size);
// Copies the log to an offset of a buffer and empties it into samples, which have their memory.
void gi_copy_log_take(struct gi_gpu *gpu, uint32_t buffer, uint64_t offset,
                      struct gi_copy_samples *samples);
// Compares the bytes that were found there with the samples. Fails with GPU_LOST if a copy is
// missing.
bool gi_copy_samples_check(const struct gi_gpu *gpu, const struct gi_copy_samples *samples,
                           const uint8_t *found, struct glinfer_error *err);
// Waits for the GPU and compares all copies so far. Fails with GPU_LOST, NO_MEMORY.
bool gi_copy_log_check(struct gi_gpu *gpu, struct glinfer_error *err);
