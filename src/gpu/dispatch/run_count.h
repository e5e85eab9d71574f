// Counts of the dispatches that were submitted and of those that ran to their end, which the GPU
// itself counts (glsl/lib/run_count.glsl), so that one which a driver dropped or a silent reset
// ended is noticed. Where all grids come from the host, one whose groups are odd in number counts
// twice, so that a grid with one group less is noticed. Owned by the gpu; a program given as text
// does not count. Any folder that
// submits dispatch lists may read it.
#pragma once

#include "gpu/memory/buffer.h"
#include "gpu/memory/readback.h"

// Dispatches that were submitted since the count began.
struct gi_run_total {
    uint32_t n;          // as the GPU counts them
    uint32_t n_indirect; // of them with a grid from the GPU, which has no groups past the end of an
                         // answer
};

// Sets both counts to 0 after the submitted work. Fails with GPU_LOST, NO_MEMORY.
bool gi_run_count_begin(struct gi_gpu *gpu, struct glinfer_error *err);
struct gi_run_total gi_run_count_submitted(const struct gi_gpu *gpu);
// Appends the GPU's count, 4 bytes, to a readback; any 4 bytes on a driver that does not count.
void gi_run_count_add(struct gi_gpu *gpu, struct gi_readback *readback);
// Fails with GPU_LOST if n_ran, a count of the GPU's, is not n_expected. Always true on a driver
// that does not count.
bool gi_run_count_check(const struct gi_gpu *gpu, uint32_t n_ran, uint32_t n_expected,
                        struct glinfer_error *err);
// Finds out whether the driver counts, after n dispatches since the count began. Fails with
// GPU_LOST, NO_MEMORY.
bool gi_run_count_probe(struct gi_gpu *gpu, struct glinfer_error *err);
