#include "glsl/norm/norm_params.h"
#include "ops/gemm/batch.h"
#include "ops/gemm/half_rows.h"
#include "ops/gemv/gemv.h"

#include <assert.h>

#define WG_SIZE       128 // of a step, which has one group
#define BATCH_WG_SIZE 32  // of a batch, which has a group for each row

static void record_norm(struct gi_recorder *recorder, const char *label,
                        const struct gi_layernorm_params *params, bool is_batch,
                        const struct gi_rows *y, struct gi_range x,
                        const struct gi_vectors *vectors)
{
    assert(params->width > 0 && params->width % 4 == 0);
    assert(params->gamma % 4 == 0 && params->beta % 4 == 0);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_LAYERNORM,
               {"WG_SIZE", is_batch ? BATCH_WG_SIZE : gi_recorder_wg_size(recorder, WG_SIZE)},
               {"BATCH", is_batch}, {"HALF", gi_half_form(y)});
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {y->range, x, vectors->range},
        GI_PARAMS_OF(*params),
        .grid = {.size = {1, 1, 1},
                 .rule = is_batch ? GI_GRID_TOKENS : GI_GRID_FIXED,
                 .axis = 0,
                 .divisor = 1},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

void gi_op_layernorm(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                     uint32_t width, const struct gi_vectors *vectors, uint32_t gamma,
                     uint32_t beta, float eps, const struct gi_rows *y)
{
    assert(x->stride >= width && y->stride >= width);
    const struct gi_layernorm_params params = {
        .x_stride = x->stride,
        .y_stride = y->stride,
        .width = width,
        .gamma = gamma,
        .beta = beta,
        .eps = eps,
    };
    record_norm(recorder, label, &params, true, y, x->range, vectors);
}

void gi_op_layernorm_step(struct gi_recorder *recorder, const char *label,
                          const struct gi_vectors *vectors, uint32_t gamma, uint32_t beta,
                          struct gi_stream *stream)
{
    const struct gi_layernorm_params params = {
        .width = stream->n_embd,
        .gamma = gamma,
        .beta = beta,
        .residual = stream->residual,
        .norm = stream->norm,
        .ssq = stream->ssq,
        .eps = stream->norm_eps,
    };
    stream->n_ssq = 1;
    stream->has_sums = false;
    stream->is_parted = false;
    const struct gi_rows y = {stream->range, 0, false};
    record_norm(recorder, label, &params, false, &y, (struct gi_range){0}, vectors);
}
