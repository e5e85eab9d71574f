#include "ops/ssm/ssm.h"

#include "base/round.h"

#include <assert.h>

#define WG_SIZE      128 // of a step, a scan
#define ROW_WG_SIZE  64  // of a convolution
#define STEP_COLUMNS 32
#define TOKENS       8 // of an invocation of a convolution
#define STAGED       4 // tokens of a scan in shared memory; of wide states half as many

uint32_t gi_ssm_channels(const struct gi_ssm *ssm)
{
    return ssm->params.n_head * ssm->dim + 2 * ssm->params.n_group * ssm->state_dim;
}

// Returns the offset of the matrices in a layer's state.
static uint32_t find_matrix(const struct gi_ssm *ssm)
{
    return ssm->n_taps * gi_ssm_channels(ssm);
}

uint32_t gi_ssm_state_size(const struct gi_ssm *ssm)
{
    return find_matrix(ssm) + ssm->params.n_head * ssm->state_dim * ssm->dim;
}

uint32_t gi_ssm_mixed_size(const struct gi_ssm *ssm)
{
    return gi_ssm_channels(ssm) + 4 * ssm->params.n_head;
}

// Returns the multiply-adds of a token: two for each element of a matrix.
static uint64_t count_work(const struct gi_ssm *ssm)
{
    return 2 * (uint64_t)ssm->params.n_head * ssm->state_dim * ssm->dim;
}

// Mali-T, which has no registers for products in large groups either, has none for these.
static uint32_t group_size(const struct gi_recorder *recorder)
{
    return gi_gpu_class(recorder->gpu)->is_short_of_registers ? WG_SIZE / 2 : WG_SIZE;
}

static struct gi_program_key make_key(const struct gi_ssm *ssm, enum gi_program_id id,
                                      uint32_t wg_size)
{
    assert(ssm->dim % 16 == 0 && ssm->state_dim % 32 == 0 &&
           ssm->params.n_head % ssm->params.n_group == 0);
    assert(ssm->params.channels % 4 == 0 && ssm->params.taps % 4 == 0 &&
           ssm->params.taps_bias % 4 == 0);
    return GI_KEY(id, {"WG_SIZE", wg_size}, {"DIM", ssm->dim}, {"STATE_DIM", ssm->state_dim},
                  {"TAPS", ssm->n_taps});
}

static struct gi_ssm_params make_params(const struct gi_ssm *ssm)
{
    struct gi_ssm_params params = ssm->params;
    params.n_channel = gi_ssm_channels(ssm);
    params.matrix = find_matrix(ssm);
    return params;
}

void gi_op_ssm_step(struct gi_recorder *recorder, const struct gi_ssm *ssm, struct gi_range x,
                    const struct gi_vectors *vectors, struct gi_range memory, struct gi_range out)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, group_size(recorder));
    const uint32_t n_column = ssm->dim % STEP_COLUMNS == 0 ? STEP_COLUMNS : 16;
    const struct gi_ssm_params params = make_params(ssm);
    struct gi_program_key key = make_key(ssm, GI_PROGRAM_SSM_STEP, wg_size);
    gi_key_define(&key, "COLUMNS", n_column);
    struct gi_dispatch dispatch = {
        .label = "ssm_step",
        .bindings = {out, x, vectors->range, memory},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .n_weight = count_work(ssm),
        .grid = {.size = {ssm->dim / n_column, params.n_head, 1}},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

// Returns the columns of a group of a scan: four rows of four columns for each invocation, which
// are all rows of 256 that a state has at most.
static uint32_t choose_columns(const struct gi_ssm *ssm, uint32_t wg_size)
{
    uint32_t n_column = 16;
    while (n_column > 16 * wg_size / ssm->state_dim && n_column > 4) {
        n_column /= 2;
    }
    assert(ssm->state_dim <= 16 * wg_size / n_column);
    return n_column;
}

void gi_op_ssm_batch(struct gi_recorder *recorder, const struct gi_ssm *ssm,
                     const struct gi_rows *x, const struct gi_vectors *vectors,
                     struct gi_range memory, const struct gi_rows *mixed, const struct gi_rows *out)
{
    struct gi_ssm_params params = make_params(ssm);
    params.x_stride = x->stride;
    params.y_stride = mixed->stride;
    params.out_stride = out->stride;
    assert(mixed->stride >= gi_ssm_mixed_size(ssm) && x->stride >= ssm->n_column);
    assert(out->stride >= params.n_head * ssm->dim && out->stride % 4 == 0 && !out->is_half);

    struct gi_program_key conv_key = make_key(ssm, GI_PROGRAM_SSM_CONV, ROW_WG_SIZE);
    gi_key_define(&conv_key, "TOKENS", TOKENS);
    struct gi_dispatch conv = {
        .label = "ssm_conv",
        .bindings = {mixed->range, x->range, vectors->range, memory},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(gi_divide_up(params.n_channel / 4 + params.n_head, ROW_WG_SIZE), true),
    };
    conv.grid.divisor = TOKENS;
    gi_recorder_add(recorder, &conv_key, &conv);

    const uint32_t wg_size = group_size(recorder), n_column = choose_columns(ssm, wg_size);
    struct gi_program_key scan_key = make_key(ssm, GI_PROGRAM_SSM_SCAN, wg_size);
    gi_key_define(&scan_key, "COLUMNS", n_column);
    gi_key_define(&scan_key, "STAGED", ssm->state_dim > 128 ? STAGED / 2 : STAGED);
    struct gi_dispatch scan = {
        .label = "ssm_scan",
        .bindings = {out->range, mixed->range, x->range, memory},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .n_weight = count_work(ssm),
        .grid = {.size = {ssm->dim / n_column, params.n_head, 1},
                 .is_divisible = true,
                 .divisible_axis = 1},
    };
    gi_recorder_add(recorder, &scan_key, &scan);
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
