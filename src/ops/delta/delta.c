#include "ops/delta/delta.h"

#include <assert.h>

#define WG_SIZE     128 // of a step, a scan
#define ROW_WG_SIZE 64  // of what goes over single rows
#define SCAN_SLICES 8   // N_SLICE of glsl/delta/delta_scan.comp and its form by subgroups
#define SCAN_STAGED 16  // tokens that the latter has in shared memory

uint32_t gi_delta_channels(const struct gi_delta *delta)
{
    return (2 * delta->params.n_k_head + delta->params.n_head) * delta->dim;
}

// Returns the offset of the matrices in a layer's state.
static uint32_t find_matrix(const struct gi_delta *delta)
{
    return delta->n_taps * gi_delta_channels(delta);
}

uint32_t gi_delta_state_size(const struct gi_delta *delta)
{
    return find_matrix(delta) + delta->params.n_head * delta->dim * delta->dim;
}

uint32_t gi_delta_mixed_size(const struct gi_delta *delta)
{
    return gi_delta_channels(delta) + 2 * delta->params.n_head + delta->params.n_k_head;
}

// Returns the multiply-adds of a token: three for each element of a matrix.
static uint64_t count_work(const struct gi_delta *delta)
{
    return 3 * (uint64_t)delta->params.n_head * delta->dim * delta->dim;
}

// Mali-T, which has no registers for products in large groups either, has none for these.
static uint32_t group_size(const struct gi_recorder *recorder)
{
    return gi_gpu_class(recorder->gpu)->is_short_of_registers ? WG_SIZE / 2 : WG_SIZE;
}

// Returns the key of a kernel without the defines that only some kernels read.
static struct gi_program_key make_key(const struct gi_delta *delta, enum gi_program_id id,
                                      uint32_t wg_size)
{
    assert(delta->dim % 16 == 0 && delta->dim >= 16);
    assert(delta->params.n_head % delta->params.n_k_head == 0);
    return GI_KEY(id, {"WG_SIZE", wg_size}, {"DIM", delta->dim});
}

// Adds the defines of a kernel that looks for the q and k of a head.
static void add_heads(const struct gi_delta *delta, struct gi_program_key *key)
{
    const uint32_t n = delta->n_neighbour;
    assert(n <= 1 || n == delta->params.n_head / delta->params.n_k_head);
    gi_key_define(key, "TAPS", delta->n_taps);
    gi_key_option(key, "NEIGHBOURS", n > 1 ? n : 0);
}

void gi_op_delta_step(struct gi_recorder *recorder, const struct gi_delta *delta, struct gi_range x,
                      const struct gi_vectors *vectors, struct gi_range memory, struct gi_range out)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, group_size(recorder));
    struct gi_program_key key = make_key(delta, GI_PROGRAM_DELTA_STEP, wg_size);
    assert(4 * wg_size >= delta->dim && 4 * wg_size % delta->dim == 0);
    add_heads(delta, &key);
    struct gi_delta_params params = delta->params;
    params.matrix = find_matrix(delta);
    struct gi_dispatch dispatch = {
        .label = "delta_step",
        .bindings = {out, x, vectors->range, memory},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .n_weight = count_work(delta),
        .grid = {.size = {params.n_head, 1, 1}},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

static enum gi_program_id scan_program(const struct gi_gpu *gpu, const struct gi_delta *delta)
{
    const uint32_t token = 2 * delta->dim + WG_SIZE / SCAN_SLICES + 4;
    const bool has_room =
        SCAN_STAGED * token * sizeof(float) <= gi_gpu_limits(gpu)->max_shared_size;
    return has_room && gi_program_available(gpu, GI_PROGRAM_DELTA_SCAN_SUBGROUP)
               ? GI_PROGRAM_DELTA_SCAN_SUBGROUP
               : GI_PROGRAM_DELTA_SCAN;
}

void gi_op_delta_batch(struct gi_recorder *recorder, const struct gi_delta *delta,
                       const struct gi_rows *x, const struct gi_vectors *vectors,
                       struct gi_range memory, const struct gi_rows *mixed, const struct gi_rows *o,
                       const struct gi_rows *out)
{
    struct gi_delta_params params = delta->params;
    params.matrix = find_matrix(delta);
    params.x_stride = x->stride;
    params.y_stride = mixed->stride;
    params.o_stride = o->stride;
    params.out_stride = out->stride;
    assert(mixed->stride >= gi_delta_mixed_size(delta) && x->stride >= delta->n_column);
    assert(o->stride >= params.n_head * delta->dim && out->stride >= params.n_head * delta->dim);

    struct gi_program_key conv_key = make_key(delta, GI_PROGRAM_DELTA_CONV, ROW_WG_SIZE);
    gi_key_define(&conv_key, "TAPS", delta->n_taps);
    struct gi_dispatch conv = {
        .label = "delta_conv",
        .bindings = {mixed->range, x->range, vectors->range, memory},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(params.n_k_head + params.n_head, true),
    };
    gi_recorder_add(recorder, &conv_key, &conv);

    const uint32_t wg_size = group_size(recorder);
    struct gi_program_key scan_key = make_key(delta, scan_program(recorder->gpu, delta), wg_size);
    add_heads(delta, &scan_key);
    struct gi_dispatch scan = {
        .label = "delta_scan",
        .bindings = {o->range, mixed->range, x->range, memory},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .n_weight = count_work(delta),
        .grid = {.size = {delta->dim / (wg_size / SCAN_SLICES), params.n_head, 1},
                 .is_divisible = true,
                 .divisible_axis = 1},
    };
    gi_recorder_add(recorder, &scan_key, &scan);

    const struct gi_program_key norm_key = make_key(delta, GI_PROGRAM_DELTA_NORM, ROW_WG_SIZE);
    struct gi_dispatch norm = {
        .label = "delta_norm",
        .bindings = {out->range, o->range, vectors->range, x->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(params.n_head, true),
    };
    gi_recorder_add(recorder, &norm_key, &norm);
}
