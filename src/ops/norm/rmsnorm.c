#include "glsl/norm/norm_params.h"
#include "ops/gemm/batch.h"
#include "ops/gemm/batch_form.h"
#include "ops/gemm/half_rows.h"

#include <assert.h>

#define WG_SIZE      64
#define WIDE_WG_SIZE 256 // where a row would keep 64 invocations waiting
#define WIDE_WIDTH   1024

static int32_t wg_size(const struct gi_gpu *gpu, uint32_t width)
{
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    const bool is_wide = width >= WIDE_WIDTH && gi_batch_form(gpu) == GI_BATCH_FORM_SPLIT &&
                         limits->max_invocations >= WIDE_WG_SIZE &&
                         limits->max_group_size[0] >= WIDE_WG_SIZE;
    return is_wide ? WIDE_WG_SIZE : WG_SIZE;
}

static void record(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                   const struct gi_vectors *vectors, const struct gi_rmsnorm_params *params,
                   bool is_added, const struct gi_rows *y)
{
    const uint32_t width = params->width;
    assert(width > 0 && width % 4 == 0 && params->gamma % 4 == 0);
    assert(x->stride >= width && y->stride >= width);
    assert(!(y->is_half && (is_added || x == y)) && !(is_added && x == y));
    struct gi_program_key key =
        GI_KEY(GI_PROGRAM_RMSNORM,
               {"WG_SIZE", gi_recorder_wg_size(recorder, wg_size(recorder->gpu, width))},
               {"ADD", is_added}, {"HALF", gi_half_form(y)});
    gi_key_option(&key, "SCALED", params->scale != UINT32_MAX);
    gi_key_option(&key, "IN_PLACE", x == y);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {y->range, x == y ? (struct gi_range){0} : x->range, vectors->range},
        GI_PARAMS_OF(*params),
        .grid = {.size = {1, 1, 1}, .rule = GI_GRID_TOKENS, .axis = 0, .divisor = 1},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

void gi_op_rmsnorm(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                   uint32_t width, const struct gi_vectors *vectors, uint32_t gamma_offset,
                   float eps, const struct gi_rows *y)
{
    const struct gi_rmsnorm_params params = {
        .x_stride = x->stride,
        .y_stride = y->stride,
        .width = width,
        .gamma = gamma_offset,
        .scale = UINT32_MAX,
        .eps = eps,
    };
    record(recorder, label, x, vectors, &params, false, y);
}

void gi_op_rmsnorm_add(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                       uint32_t width, const struct gi_vectors *vectors, uint32_t gamma,
                       uint32_t scale, float eps, const struct gi_rows *y)
{
    const struct gi_rmsnorm_params params = {
        .x_stride = x->stride,
        .y_stride = y->stride,
        .width = width,
        .gamma = gamma,
        .scale = scale,
        .eps = eps,
    };
    record(recorder, label, x, vectors, &params, true, y);
}
