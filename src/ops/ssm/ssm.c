#include "ops/ssm/ssm.h"

#include "glsl/ssm/ssm_params.h"

#include <assert.h>

#define WG_SIZE      128 // of a step, a scan
#define ROW_WG_SIZE  64  // of a convolution
#define STEP_COLUMNS 32
#define TOKENS       8 // of an invocation of a convolution
#define STAGED       4 // tokens of a scan in shared memory; of wide states half as many

uint32_t gi_ssm_channels(const struct gi_ssm *ssm)
{
    return ssm->n_head * ssm->dim + 2 * ssm->n_group * ssm->state_dim;
}

uint32_t gi_ssm_matrix(const struct gi_ssm *ssm)
{
    return ssm->n_taps * gi_ssm_channels(ssm);
}

uint32_t gi_ssm_state_size(const struct gi_ssm *ssm)
{
    return gi_ssm_matrix(ssm) + ssm->n_head * ssm->state_dim * ssm->dim;
}

uint32_t gi_ssm_mixed_size(const struct gi_ssm *ssm)
{
    return gi_ssm_channels(ssm) + 4 * ssm->n_head;
}

// Returns the multiply-adds of a token: two for each element of a matrix.
static uint64_t count_work(const struct gi_ssm *ssm)
{
    return 2 * (uint64_t)ssm->n_head * ssm->state_dim * ssm->dim;
}

// Mali-T, which has no registers for products in large groups either, has none for these.
static uint32_t group_size(const struct gi_recorder *recorder)
{
    return gi_program_available(recorder->gpu, GI_PROGRAM_GEMM) ? WG_SIZE : WG_SIZE / 2;
}

static struct gi_program_key make_key(const struct gi_ssm *ssm, enum gi_program_id id,
                                      uint32_t wg_size)
{
    assert(ssm->dim % 16 == 0 && ssm->state_dim % 32 == 0 && ssm->n_head % ssm->n_group == 0);
    assert(ssm->channels % 4 == 0 && ssm->taps % 4 == 0 && ssm->taps_bias % 4 == 0);
    return GI_KEY(id, {"WG_SIZE", wg_size}, {"DIM", ssm->dim}, {"STATE_DIM", ssm->state_dim},
                  {"TAPS", ssm->n_taps});
}

void gi_op_ssm_step(struct gi_recorder *recorder, const struct gi_ssm *ssm, struct gi_range x,
                    const struct gi_vectors *vectors, struct gi_range memory, struct gi_range out)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, group_size(recorder));
    const uint32_t n_column = ssm->dim % STEP_COLUMNS == 0 ? STEP_COLUMNS : 16;
    struct gi_program_key key = make_key(ssm, GI_PROGRAM_SSM_STEP, wg_size);
    gi_key_define(&key, "COLUMNS", n_column);
    const struct gi_ssm_step_params params = {
        .n_head = ssm->n_head,
        .n_group = ssm->n_group,
        .channels = ssm->channels,
        .dt = ssm->dt,
        .taps = ssm->taps,
        .taps_bias = ssm->taps_bias,
        .dt_bias = ssm->dt_bias,
        .decay_rate = ssm->decay_rate,
        .skip = ssm->skip,
        .matrix = gi_ssm_matrix(ssm),
    };
    struct gi_dispatch dispatch = {
        .label = "ssm_step",
        .bindings = {out, x, vectors->range, memory},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .n_weight = count_work(ssm),
        .grid = {.size = {ssm->dim / n_column, ssm->n_head, 1}},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

//-- batches ---------------------------------------------------------------------------------------

static void record_conv(struct gi_recorder *recorder, const struct gi_ssm *ssm,
                        const struct gi_rows *x, const struct gi_vectors *vectors,
                        struct gi_range memory, const struct gi_rows *mixed)
{
    const uint32_t n_each = gi_ssm_channels(ssm) / 4 + ssm->n_head;
    struct gi_program_key key = make_key(ssm, GI_PROGRAM_SSM_CONV, ROW_WG_SIZE);
    gi_key_define(&key, "TOKENS", TOKENS);
    const struct gi_ssm_conv_params params = {
        .x_stride = x->stride,
        .y_stride = mixed->stride,
        .n_channel = gi_ssm_channels(ssm),
        .n_head = ssm->n_head,
        .channels = ssm->channels,
        .dt = ssm->dt,
        .taps = ssm->taps,
        .taps_bias = ssm->taps_bias,
        .dt_bias = ssm->dt_bias,
        .decay_rate = ssm->decay_rate,
        .skip = ssm->skip,
    };
    struct gi_dispatch dispatch = {
        .label = "ssm_conv",
        .bindings = {mixed->range, x->range, vectors->range, memory},
        GI_PARAMS_OF(params),
        .grid = {.size = {(n_each + ROW_WG_SIZE - 1) / ROW_WG_SIZE, 1, 1},
                 .rule = GI_GRID_TOKENS,
                 .axis = 1,
                 .divisor = TOKENS},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

static void record_scan(struct gi_recorder *recorder, const struct gi_ssm *ssm,
                        const struct gi_rows *x, struct gi_range memory,
                        const struct gi_rows *mixed, const struct gi_rows *out)
{
    const uint32_t wg_size = group_size(recorder);
    // Four rows of four columns for each invocation: all rows of 256 that a state has at most.
    const uint32_t n_wanted = 16 * wg_size / ssm->state_dim;
    uint32_t n_column = 16;
    while (n_column > n_wanted && n_column > 4) {
        n_column /= 2;
    }
    assert(ssm->state_dim <= 16 * wg_size / n_column);
    struct gi_program_key key = make_key(ssm, GI_PROGRAM_SSM_SCAN, wg_size);
    gi_key_define(&key, "COLUMNS", n_column);
    gi_key_define(&key, "STAGED", ssm->state_dim > 128 ? STAGED / 2 : STAGED);
    const struct gi_ssm_scan_params params = {
        .x_stride = x->stride,
        .y_stride = mixed->stride,
        .out_stride = out->stride,
        .n_head = ssm->n_head,
        .n_group = ssm->n_group,
        .channels = ssm->channels,
        .matrix = gi_ssm_matrix(ssm),
    };
    struct gi_dispatch dispatch = {
        .label = "ssm_scan",
        .bindings = {out->range, mixed->range, x->range, memory},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .n_weight = count_work(ssm),
        .grid = {.size = {ssm->dim / n_column, ssm->n_head, 1},
                 .is_divisible = true,
                 .divisible_axis = 1},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

void gi_op_ssm_batch(struct gi_recorder *recorder, const struct gi_ssm *ssm,
                     const struct gi_rows *x, const struct gi_vectors *vectors,
                     struct gi_range memory, const struct gi_rows *mixed, const struct gi_rows *out)
{
    assert(mixed->stride >= gi_ssm_mixed_size(ssm) && x->stride >= ssm->n_column);
    assert(out->stride >= ssm->n_head * ssm->dim && out->stride % 4 == 0 && !out->is_half);
    record_conv(recorder, ssm, x, vectors, memory, mixed);
    record_scan(recorder, ssm, x, memory, mixed, out);
}

void gi_op_ssm_norm(struct gi_recorder *recorder, bool is_batch, uint32_t n_group, uint32_t width,
                    const struct gi_vectors *vectors, uint32_t gamma, float eps,
                    const struct gi_rows *y)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    assert(width % 4 == 0 && gamma % 4 == 0 && y->stride >= n_group * width && !y->is_half);
    const struct gi_program_key key = GI_KEY(GI_PROGRAM_SSM_NORM, {"WG_SIZE", wg_size});
    const struct gi_ssm_norm_params params = {
        .y_stride = y->stride, .width = width, .gamma = gamma, .eps = eps};
    struct gi_dispatch dispatch = {
        .label = "ssm_norm",
        .bindings = {y->range, vectors->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(n_group, is_batch),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}
