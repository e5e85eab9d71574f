#include "ops/experts/experts.h"

#include "ops/record/params.h"

#include <assert.h>

#define WG_SIZE  64
#define MAX_USED 32 // of glsl/experts/route.comp

bool gi_op_route(struct gi_recorder *recorder, const struct gi_experts *experts,
                 enum gi_experts_tokens tokens, const struct gi_rows *logits,
                 const struct gi_rows *act, struct glinfer_error *err)
{
    assert(experts->n_used > 0 && experts->n_used <= MAX_USED);
    assert(experts->n_used <= experts->n_expert && logits->stride >= experts->n_expert);
    const struct gi_program_key key = {
        .id = GI_PROGRAM_ROUTE,
        .quant = GI_QUANT_NONE,
        .n_defines = 1,
        .defines = {{"WG_SIZE", gi_recorder_wg_size(recorder, WG_SIZE)}},
    };
    const struct gi_route_params params = {
        .n_expert = experts->n_expert,
        .n_used = experts->n_used,
        .stride = logits->stride,
        .act_stride = act->stride,
        .route = experts->route,
        .one = 1,
    };
    struct gi_dispatch dispatch = {
        .label = "route",
        .bindings = {act->range, logits->range},
        .writes = 1u << 0,
        .params = &params,
        .params_size = sizeof(params),
        .grid = { .size = {1, 1, 1},
                     .rule = tokens == GI_EXPERTS_BATCH ? GI_GRID_TOKENS : GI_GRID_FIXED,
                     .axis = 0,
                     .divisor = 1},
        .wg_size = gi_recorder_wg_size(recorder, WG_SIZE),
    };
    return gi_recorder_add(recorder, &key, &dispatch, err);
}

static bool record_add(struct gi_recorder *recorder, const struct gi_add_experts_params *params,
                       enum gi_experts_tokens tokens, struct gi_range x, struct gi_range y,
                       struct gi_range vectors, struct gi_range act, struct glinfer_error *err)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    const struct gi_program_key key = {
        .id = GI_PROGRAM_ADD_EXPERTS,
        .quant = GI_QUANT_NONE,
        .n_defines = 2,
        .defines = {{"WG_SIZE", wg_size}, {"BATCH", tokens == GI_EXPERTS_BATCH}},
    };
    struct gi_dispatch dispatch = {
        .label = "add_experts",
        .bindings = {x,                                                            y,     vectors, act},
        .writes = 1u << 0,
        .params = params,
        .params_size = sizeof(*params),
        .wg_size = wg_size,
        .grid = {.size = {(params->n_embd / 4 + wg_size - 1) / wg_size, 1, 1},
                     .rule = tokens == GI_EXPERTS_BATCH ? GI_GRID_TOKENS : GI_GRID_FIXED,
                     .axis = 1,
                     .divisor = 1                                                                     },
    };
    return gi_recorder_add(recorder, &key, &dispatch, err);
}

bool gi_op_add_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                       const struct gi_rows *act, const struct gi_rows *y,
                       const struct gi_vectors *vectors, uint32_t next_gamma, float scale,
                       struct gi_stream *stream, struct glinfer_error *err)
{
    assert(next_gamma != UINT32_MAX && next_gamma % 4 == 0);
    const struct gi_add_experts_params params = {
        .n_embd = stream->n_embd,
        .n_used = experts->n_used,
        .y_stride = y->stride,
        .y_width = experts->y_width,
        .act_stride = act->stride,
        .route = experts->route,
        .gamma = next_gamma,
        .residual = stream->residual,
        .norm = stream->norm,
        .ssq = stream->ssq,
        .scale = scale,
    };
    stream->has_sums = false;
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    stream->n_ssq = (params.n_embd / 4 + wg_size - 1) / wg_size;
    assert(stream->n_ssq <= stream->max_ssq);
    return record_add(recorder, &params, GI_EXPERTS_STEP, stream->range, y->range, vectors->range,
                      act->range, err);
}

bool gi_op_add_experts_batch(struct gi_recorder *recorder, const struct gi_experts *experts,
                             const struct gi_rows *act, const struct gi_rows *y, uint32_t n_embd,
                             float scale, const struct gi_rows *x, struct glinfer_error *err)
{
    const struct gi_add_experts_params params = {
        .n_embd = n_embd,
        .n_used = experts->n_used,
        .x_stride = x->stride,
        .y_stride = y->stride,
        .y_width = experts->y_width,
        .act_stride = act->stride,
        .route = experts->route,
        .scale = scale,
    };
    // Nothing is read of the vectors in a batch.
    return record_add(recorder, &params, GI_EXPERTS_BATCH, x->range, y->range, (struct gi_range){0},
                      act->range, err);
}
