#include "engine/measure/device_rates.h"

#include "base/clock.h"
#include "engine/model/arena.h"
#include "gpu/device/fence.h"
#include "gpu/dispatch/multi_executor.h"
#include "ops/record/rate.h"

#include <math.h>
#include <string.h>

struct rates {
    struct gi_gpu *gpu;
    struct gi_program_table *programs;
    struct gi_arena arena;
    struct gi_range x, y; // of one size
    struct glinfer_error *err;
};

// Bytes of a buffer: well over the caches, well under what a small board has.
static uint64_t first_size(const struct gi_gpu *gpu)
{
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    uint64_t size = gi_gpu_class(gpu)->rate_bytes;
    const uint64_t texels = (uint64_t)limits->max_texels * 16;
    size = size < limits->max_storage_block_size ? size : limits->max_storage_block_size;
    size = limits->has_texture_buffer && texels < size ? texels : size;
    return size / GI_RATE_UNIT * GI_RATE_UNIT;
}

static bool allocate(struct rates *rates, uint64_t size, struct glinfer_error *err)
{
    const uint64_t sizes[2] = {size, size};
    const struct gi_arena_request request = {.sizes = sizes, .n = 2, .label = "rates"};
    struct gi_range ranges[2];
    if (!gi_arena_place(&rates->arena, rates->gpu, &request, ranges, err)) {
        gi_arena_finish(&rates->arena, rates->gpu);
        return false;
    }
    rates->x = ranges[0];
    rates->y = ranges[1];
    return true;
}

// Allocates as much as there is room for.
static bool allocate_some(struct rates *rates)
{
    enum { LEAST = 4 << 20 };
    uint64_t size = first_size(rates->gpu);
    while (size / 2 >= LEAST && !allocate(rates, size, NULL)) {
        size /= 2;
    }
    return rates->x.buffer || allocate(rates, size, rates->err);
}

//-- timing --------------------------------------------------------------------------------------

static bool replay(const struct rates *rates, struct gi_dispatch_table *table, uint32_t n,
                   uint64_t *ns)
{
    struct gi_multi_executor executor = gi_multi_executor_of(table);
    const struct gi_chain chain = {.n_tokens = 1, .n_steps = n};
    const uint64_t begin = gi_clock_ns();
    const bool ok = gi_executor_submit(&executor.base, &chain, rates->err) &&
                    gi_gpu_finish(rates->gpu, rates->err);
    *ns = gi_clock_ns() - begin + 1;
    return ok;
}

// Measures work per nanosecond: the best of several runs, with enough replays to make waits
// negligible. The first runs wake the device up; if one run is slow, it is the only one.
static bool measure(const struct rates *rates, struct gi_dispatch_table *table, double work,
                    double *best)
{
    enum { LONG_NS = 20000000, SLOW_NS = 300000000, N_RUN = 4, MOST = 4096 };
    uint64_t ns = 0;
    uint32_t n = 1;
    if (!replay(rates, table, n, &ns)) {
        return false;
    }
    if (ns > SLOW_NS) {
        *best = fmax(*best, work / (double)ns);
        return true;
    }
    while (ns < LONG_NS && n < MOST) {
        n *= 2;
        if (!replay(rates, table, n, &ns)) {
            return false;
        }
    }
    for (int i = 0; i < N_RUN; i++) {
        if (!replay(rates, table, n, &ns)) {
            return false;
        }
        *best = fmax(*best, work * n / (double)ns);
    }
    return true;
}

//-- the tables ------------------------------------------------------------------------------------

enum rate_kind {
    RATE_COPY,
    RATE_READ,
    RATE_READ_TEXELS,
    RATE_FMA,
};

// Sized so that one dispatch takes a small GPU some ms and a large one some 100 us.
static double record_fma(const struct rates *rates, struct gi_recorder *recorder)
{
    enum { N_ROUND = 64 };
    struct gi_range y = rates->y;
    const uint64_t size = gi_gpu_class(rates->gpu)->burst_bytes;
    y.size = size < y.size ? size : y.size;
    gi_op_rate_fma(recorder, y, N_ROUND, 0.9990234375F, 0.0009765625F);
    return (double)y.size / sizeof(float) * N_ROUND * GI_RATE_FLOPS_A_ROUND;
}

// Returns the bytes or floating-point operations of a replay.
static double record(const struct rates *rates, enum rate_kind kind, struct gi_recorder *recorder)
{
    switch (kind) {
    case RATE_COPY:
        gi_op_rate_copy(recorder, rates->y, rates->x);
        return (double)rates->x.size * 2;
    case RATE_READ:
    case RATE_READ_TEXELS:
        gi_op_rate_read(recorder, rates->y, rates->x, kind == RATE_READ_TEXELS);
        return (double)(rates->x.size + gi_rate_parity_size(rates->gpu, rates->x.size));
    default:
        return record_fma(rates, recorder);
    }
}

static bool measure_kind(const struct rates *rates, enum rate_kind kind, double *best)
{
    const struct gi_dispatch_table_params params = {0};
    struct gi_recorder recorder = {.gpu = rates->gpu, .programs = rates->programs};
    if (kind == RATE_READ_TEXELS && !gi_gpu_limits(rates->gpu)->has_texture_buffer) {
        return true;
    }
    gi_recorder_begin(&recorder, &params, rates->err);
    const double work = record(rates, kind, &recorder);
    struct gi_dispatch_table *table = gi_recorder_end(&recorder, rates->err);
    const bool ok = table && gi_program_table_build(rates->programs, NULL, NULL, rates->err) &&
                    gi_dispatch_table_seal(table, rates->err) && measure(rates, table, work, best);
    gi_dispatch_table_destroy(table);
    return ok;
}

bool gi_device_measure(const struct glinfer_device *device, struct glinfer_device_rates *rates,
                       struct glinfer_error *err)
{
    struct rates run = {.gpu = device->gpu, .programs = device->programs, .err = err};
    const bool ok = allocate_some(&run) && measure_kind(&run, RATE_COPY, &rates->copy_gb_per_s) &&
                    measure_kind(&run, RATE_READ, &rates->read_gb_per_s) &&
                    measure_kind(&run, RATE_READ_TEXELS, &rates->read_gb_per_s) &&
                    measure_kind(&run, RATE_FMA, &rates->gflop_per_s);
    gi_arena_finish(&run.arena, device->gpu);
    return ok;
}
