#include "ops/delta/delta.h"

#include "glsl/delta/delta_params.h"

#include <assert.h>

#define WG_SIZE     128 // of a step, a scan
#define ROW_WG_SIZE 64  // of what goes over single rows
#define SCAN_SLICES 8   // N_SLICE of glsl/delta/delta_scan.comp and its form by subgroups
#define SCAN_STAGED 16  // tokens that the latter has in shared memory

uint32_t gi_delta_channels(const struct gi_delta *delta)
{
    return (2 * delta->n_k_head + delta->n_head) * delta->dim;
}

uint32_t gi_delta_matrix(const struct gi_delta *delta)
{
    return delta->n_taps * gi_delta_channels(delta);
}

uint32_t gi_delta_state_size(const struct gi_delta *delta)
{
    return gi_delta_matrix(delta) + delta->n_head * delta->dim * delta->dim;
}

uint32_t gi_delta_mixed_size(const struct gi_delta *delta)
{
    return gi_delta_channels(delta) + 2 * delta->n_head + delta->n_k_head;
}

// Returns the multiply-adds of a token: three for each element of a matrix.
static uint64_t count_work(const struct gi_delta *delta)
{
    return 3 * (uint64_t)delta->n_head * delta->dim * delta->dim;
}

// Mali-T, which has no registers for products in large groups either, has none for these.
static uint32_t group_size(const struct gi_recorder *recorder)
{
    return gi_program_available(recorder->gpu, GI_PROGRAM_GEMM) ? WG_SIZE : WG_SIZE / 2;
}

static struct gi_program_key make_key(const struct gi_delta *delta, enum gi_program_id id,
                                      uint32_t wg_size)
{
    assert(delta->dim % 16 == 0 && delta->dim >= 16 && delta->n_head % delta->n_k_head == 0);
    struct gi_program_key key = GI_KEY(id, {"WG_SIZE", wg_size}, {"DIM", delta->dim});
    if (id != GI_PROGRAM_DELTA_NORM) {
        gi_key_define(&key, "TAPS", delta->n_taps);
    }
    return key;
}

// The same of a kernel that looks for the q and k of a head.
static struct gi_program_key make_head_key(const struct gi_delta *delta, enum gi_program_id id,
                                           uint32_t wg_size)
{
    struct gi_program_key key = make_key(delta, id, wg_size);
    if (delta->n_neighbour > 1) {
        assert(delta->n_neighbour == delta->n_head / delta->n_k_head);
        key.defines[key.n_defines].name = "NEIGHBOURS";
        key.defines[key.n_defines++].value = (int32_t)delta->n_neighbour;
    }
    return key;
}

void gi_op_delta_step(struct gi_recorder *recorder, const struct gi_delta *delta, struct gi_range x,
                      const struct gi_vectors *vectors, struct gi_range memory, struct gi_range out)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, group_size(recorder));
    const struct gi_program_key key = make_head_key(delta, GI_PROGRAM_DELTA_STEP, wg_size);
    assert(4 * wg_size >= delta->dim && 4 * wg_size % delta->dim == 0);
    const struct gi_delta_step_params params = {
        .n_head = delta->n_head,
        .n_k_head = delta->n_k_head,
        .z = delta->z,
        .rate = delta->rate,
        .decay = delta->decay,
        .taps = delta->taps,
        .gamma = delta->gamma,
        .decay_bias = delta->decay_bias,
        .decay_rate = delta->decay_rate,
        .matrix = gi_delta_matrix(delta),
        .eps = delta->eps,
    };
    struct gi_dispatch dispatch = {
        .label = "delta_step",
        .bindings = {out, x, vectors->range, memory},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .n_weight = count_work(delta),
        .grid = {.size = {delta->n_head, 1, 1}},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

//-- batches ---------------------------------------------------------------------------------------

static void record_conv(struct gi_recorder *recorder, const struct gi_delta *delta,
                        const struct gi_rows *x, const struct gi_vectors *vectors,
                        struct gi_range memory, const struct gi_rows *mixed)
{
    const struct gi_program_key key = make_key(delta, GI_PROGRAM_DELTA_CONV, ROW_WG_SIZE);
    const struct gi_delta_conv_params params = {
        .x_stride = x->stride,
        .y_stride = mixed->stride,
        .n_head = delta->n_head,
        .n_k_head = delta->n_k_head,
        .rate = delta->rate,
        .decay = delta->decay,
        .taps = delta->taps,
        .decay_bias = delta->decay_bias,
        .decay_rate = delta->decay_rate,
        .eps = delta->eps,
    };
    struct gi_dispatch dispatch = {
        .label = "delta_conv",
        .bindings = {mixed->range, x->range, vectors->range, memory},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(delta->n_k_head + delta->n_head, true),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

static bool has_subgroup_scan(const struct gi_gpu *gpu, const struct gi_delta *delta)
{
    const uint32_t token = 2 * delta->dim + WG_SIZE / SCAN_SLICES + 4;
    return gi_program_available(gpu, GI_PROGRAM_DELTA_SCAN_SUBGROUP) &&
           SCAN_STAGED * token * sizeof(float) <= gi_gpu_limits(gpu)->max_shared_size;
}

static void record_scan(struct gi_recorder *recorder, const struct gi_delta *delta,
                        const struct gi_rows *x, struct gi_range memory,
                        const struct gi_rows *mixed, const struct gi_rows *o)
{
    const uint32_t wg_size = group_size(recorder);
    const enum gi_program_id id = has_subgroup_scan(recorder->gpu, delta)
                                      ? GI_PROGRAM_DELTA_SCAN_SUBGROUP
                                      : GI_PROGRAM_DELTA_SCAN;
    const struct gi_program_key key = make_head_key(delta, id, wg_size);
    const struct gi_delta_scan_params params = {
        .x_stride = x->stride,
        .y_stride = mixed->stride,
        .out_stride = o->stride,
        .n_head = delta->n_head,
        .n_k_head = delta->n_k_head,
        .matrix = gi_delta_matrix(delta),
    };
    struct gi_dispatch dispatch = {
        .label = "delta_scan",
        .bindings = {o->range, mixed->range, x->range, memory},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .n_weight = count_work(delta),
        .grid = {.size = {delta->dim / (wg_size / SCAN_SLICES), delta->n_head, 1},
                 .is_divisible = true,
                 .divisible_axis = 1},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

static void record_norm(struct gi_recorder *recorder, const struct gi_delta *delta,
                        const struct gi_rows *x, const struct gi_vectors *vectors,
                        const struct gi_rows *o, const struct gi_rows *out)
{
    const struct gi_program_key key = make_key(delta, GI_PROGRAM_DELTA_NORM, ROW_WG_SIZE);
    const struct gi_delta_norm_params params = {
        .x_stride = x->stride,
        .o_stride = o->stride,
        .out_stride = out->stride,
        .z = delta->z,
        .gamma = delta->gamma,
        .eps = delta->eps,
    };
    struct gi_dispatch dispatch = {
        .label = "delta_norm",
        .bindings = {out->range, o->range, vectors->range, x->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(delta->n_head, true),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

void gi_op_delta_batch(struct gi_recorder *recorder, const struct gi_delta *delta,
                       const struct gi_rows *x, const struct gi_vectors *vectors,
                       struct gi_range memory, const struct gi_rows *mixed, const struct gi_rows *o,
                       const struct gi_rows *out)
{
    assert(mixed->stride >= gi_delta_mixed_size(delta) && x->stride >= delta->n_column);
    assert(o->stride >= delta->n_head * delta->dim && out->stride >= delta->n_head * delta->dim);
    record_conv(recorder, delta, x, vectors, memory, mixed);
    record_scan(recorder, delta, x, memory, mixed, o);
    record_norm(recorder, delta, x, vectors, o, out);
}
