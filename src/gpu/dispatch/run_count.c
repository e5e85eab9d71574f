#include "gpu/dispatch/run_count.h"

#include "gpu/device/gpu_private.h"

bool gi_run_count_begin(struct gi_gpu *gpu, struct glinfer_error *err)
{
    static const uint32_t zero;
    gpu->submitted = (struct gi_run_total){0};
    return !gpu->counts_runs || gi_buffer_write(&gpu->run_count, gpu, 0, &zero, sizeof(zero), err);
}

struct gi_run_total gi_run_count_submitted(const struct gi_gpu *gpu)
{
    return gpu->submitted;
}

void gi_run_count_add(struct gi_gpu *gpu, struct gi_readback *readback)
{
    if (gpu->counts_runs) {
        gi_readback_add(readback, gpu, &gpu->run_count, 0, sizeof(uint32_t));
    } else {
        readback->size += sizeof(uint32_t);
    }
}

bool gi_run_count_check(const struct gi_gpu *gpu, uint32_t n_ran, uint32_t n_expected,
                        struct glinfer_error *err)
{
    if (n_ran == n_expected || !gpu->counts_runs) {
        return true;
    }
    return gi_error_set(err, GLINFER_STATUS_GPU_LOST,
                        "%s ran %u dispatches to their end of %u that were submitted: it was "
                        "probably reset",
                        gi_gpu_platform(gpu)->renderer, n_ran, n_expected);
}

bool gi_run_count_probe(struct gi_gpu *gpu, struct glinfer_error *err)
{
    uint32_t n_ran;
    if (!gpu->counts_runs) {
        return true;
    }
    if (!gi_buffer_read(&gpu->run_count, gpu, 0, &n_ran, sizeof(n_ran), err)) {
        return false;
    }
    if (n_ran != gpu->submitted.n) {
        gpu->counts_runs = false;
        gi_log_write(&gpu->log, GLINFER_LOG_WARN,
                     "%s counts %u dispatches where %u ran: one that is left out is not noticed",
                     gi_gpu_platform(gpu)->renderer, n_ran, gpu->submitted.n);
    }
    return true;
}
