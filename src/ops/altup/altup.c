#include "ops/altup/altup.h"

#include "base/round.h"
#include "glsl/altup/altup_params.h"
#include "ops/gemv/gemv.h"

#include <assert.h>

#define WG_SIZE 64 // columns in fours

static uint32_t wg_size_of(const struct gi_recorder *recorder)
{
    return gi_recorder_wg_size(recorder, WG_SIZE);
}

static bool is_batch(const struct gi_altup *altup)
{
    return altup->stream == NULL;
}

// Returns the groups of a token: one in a batch.
static uint32_t groups_of(const struct gi_recorder *recorder, const struct gi_altup *altup)
{
    return is_batch(altup) ? 1 : gi_divide_up(altup->n_embd / 4, wg_size_of(recorder));
}

static uint32_t residual_of(const struct gi_altup *altup)
{
    return is_batch(altup) ? 0 : altup->stream->residual;
}

static struct gi_range residual_range(const struct gi_altup *altup)
{
    return is_batch(altup) ? altup->x.range : altup->stream->range;
}

static void check_rows(const struct gi_altup *altup, const struct gi_rows *rows, uint32_t n)
{
    assert(altup->n_embd % 64 == 0 && altup->rows.stride >= GI_ALTUP_STREAMS * altup->n_embd);
    assert(is_batch(altup) || altup->rows.stride >= gi_altup_step_width(altup->n_embd));
    assert(!rows || (!rows->is_half && rows->stride >= n * altup->n_embd));
    (void)altup;
    (void)rows;
    (void)n;
}

// Makes the dispatch of a step also write the norm and the sums that the next projection reads.
static void note_stream(const struct gi_recorder *recorder, const struct gi_altup *altup)
{
    if (!is_batch(altup)) {
        altup->stream->n_ssq = groups_of(recorder, altup);
        altup->stream->has_sums = gi_gemv_wants_sums(recorder->gpu);
        altup->stream->is_parted = false;
        assert(altup->stream->n_ssq <= altup->stream->max_ssq);
    }
}

// Records a dispatch over all tokens; its label, bindings, writes and params are set.
static void record(struct gi_recorder *recorder, const struct gi_altup *altup,
                   const struct gi_program_key *key, struct gi_dispatch *dispatch)
{
    dispatch->wg_size = wg_size_of(recorder);
    dispatch->grid = (struct gi_grid){
        .size = {groups_of(recorder, altup), 1, 1},
        .rule = is_batch(altup) ? GI_GRID_TOKENS : GI_GRID_FIXED,
        .axis = 1,
        .divisor = 1,
    };
    gi_recorder_add(recorder, key, dispatch);
}

void gi_op_altup_embed(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                       const struct gi_altup *altup)
{
    check_rows(altup, y, GI_ALTUP_STREAMS - 1);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_ALTUP_EMBED, {"WG_SIZE", wg_size_of(recorder)});
    const struct gi_altup_embed_params params = {
        .n_embd = altup->n_embd,
        .stride = altup->rows.stride,
        .x_begin = residual_of(altup),
        .x_stride = altup->x.stride,
        .y_stride = y->stride,
        .n_step = groups_of(recorder, altup) * wg_size_of(recorder),
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {altup->rows.range, residual_range(altup), y->range},
        GI_PARAMS_OF(params),
    };
    record(recorder, altup, &key, &dispatch);
}

void gi_op_altup_predict(struct gi_recorder *recorder, const char *label,
                         const struct gi_altup_router *router, const struct gi_rows *y,
                         uint32_t input_gamma, uint32_t gamma, const struct gi_altup *altup)
{
    check_rows(altup, y, 1);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_ALTUP_PREDICT, {"WG_SIZE", wg_size_of(recorder)},
               {"BATCH", is_batch(altup)}, {"HAS_INPUT", y != NULL},
               {"WRITE_SUMS", !is_batch(altup) && gi_gemv_wants_sums(recorder->gpu)});
    const struct gi_altup_predict_params params = {
        .n_embd = altup->n_embd,
        .stride = altup->rows.stride,
        .x_stride = altup->x.stride,
        .y_stride = y ? y->stride : 0,
        .router_norm = router->norm,
        .router = router->matrix,
        .coefs = router->coefs,
        .input_gamma = y ? input_gamma : 0,
        .gamma = gamma,
        .residual = residual_of(altup),
        .norm = is_batch(altup) ? 0 : altup->stream->norm,
        .ssq = is_batch(altup) ? 0 : altup->stream->ssq,
        .eps = altup->eps,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {altup->rows.range, residual_range(altup), altup->vectors->range,
                     y ? y->range : (struct gi_range){0}},
        .writes = 1u << 0 | 1u << 1,
        GI_PARAMS_OF(params),
    };
    note_stream(recorder, altup);
    record(recorder, altup, &key, &dispatch);
}

void gi_op_laurel_join(struct gi_recorder *recorder, const char *label,
                       const struct gi_laurel_norms *norms, const struct gi_rows *y,
                       const struct gi_rows *branch, const struct gi_altup *altup)
{
    check_rows(altup, y, 1);
    const bool has_rows = is_batch(altup);
    const struct gi_rows *side = has_rows ? branch : &altup->rows;
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_LAUREL_JOIN, {"WG_SIZE", wg_size_of(recorder)}, {"BATCH", has_rows},
               {"WRITE_SUMS", !has_rows && gi_gemv_wants_sums(recorder->gpu)});
    const struct gi_laurel_join_params params = {
        .n_embd = altup->n_embd,
        .x_stride = altup->x.stride,
        .y_stride = y->stride,
        .side_stride = side->stride,
        .x_gamma = norms->x_gamma,
        .y_gamma = norms->y_gamma,
        .l_gamma = norms->branch_gamma,
        .l_begin = has_rows ? 0 : gi_altup_branch(altup->n_embd),
        .z_begin = has_rows ? 0 : gi_altup_joined(altup->n_embd),
        .gamma = norms->gamma,
        .residual = residual_of(altup),
        .norm = has_rows ? 0 : altup->stream->norm,
        .ssq = has_rows ? 0 : altup->stream->ssq,
        .eps = altup->eps,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {residual_range(altup), y->range, altup->vectors->range, side->range},
        .writes = has_rows ? 1u << 0 : 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
    };
    note_stream(recorder, altup);
    record(recorder, altup, &key, &dispatch);
}

void gi_op_altup_correct(struct gi_recorder *recorder, const char *label,
                         const struct gi_altup_router *router, const struct gi_rows *y,
                         uint32_t y_gamma, uint32_t scale, const struct gi_altup *altup)
{
    check_rows(altup, y, 1);
    const struct gi_program_key key = GI_KEY(
        GI_PROGRAM_ALTUP_CORRECT, {"WG_SIZE", wg_size_of(recorder)}, {"BATCH", is_batch(altup)});
    const struct gi_altup_correct_params params = {
        .n_embd = altup->n_embd,
        .stride = altup->rows.stride,
        .x_stride = altup->x.stride,
        .y_stride = y->stride,
        .router_norm = router->norm,
        .router = router->matrix,
        .coefs = router->coefs,
        .y_gamma = y_gamma,
        .scale = scale,
        .z_begin = is_batch(altup) ? 0 : gi_altup_joined(altup->n_embd),
        .residual = residual_of(altup),
        .eps = altup->eps,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {altup->rows.range, residual_range(altup), altup->vectors->range, y->range},
        .writes = 1u << 0 | 1u << 1,
        GI_PARAMS_OF(params),
    };
    record(recorder, altup, &key, &dispatch);
}

void gi_op_altup_add(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                     uint32_t gamma, const struct gi_altup *altup)
{
    check_rows(altup, y, 1);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_ALTUP_ADD, {"WG_SIZE", wg_size_of(recorder)});
    const struct gi_altup_add_params params = {
        .n_embd = altup->n_embd,
        .stride = altup->rows.stride,
        .y_stride = y->stride,
        .gamma = gamma,
        .n_step = groups_of(recorder, altup) * wg_size_of(recorder),
        .eps = altup->eps,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {altup->rows.range, y->range, altup->vectors->range},
        GI_PARAMS_OF(params),
    };
    record(recorder, altup, &key, &dispatch);
}

void gi_op_altup_merge(struct gi_recorder *recorder, const char *label, const struct gi_rows *u,
                       uint32_t gamma, const struct gi_altup *altup)
{
    check_rows(altup, u, GI_ALTUP_STREAMS - 1);
    const struct gi_program_key key = GI_KEY(
        GI_PROGRAM_ALTUP_MERGE, {"WG_SIZE", wg_size_of(recorder)}, {"BATCH", is_batch(altup)},
        {"WRITE_SUMS", !is_batch(altup) && gi_gemv_wants_sums(recorder->gpu)});
    const struct gi_altup_merge_params params = {
        .n_embd = altup->n_embd,
        .x_stride = altup->x.stride,
        .stride = altup->rows.stride,
        .u_stride = u->stride,
        .gamma = gamma,
        .residual = residual_of(altup),
        .norm = is_batch(altup) ? 0 : altup->stream->norm,
        .ssq = is_batch(altup) ? 0 : altup->stream->ssq,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {residual_range(altup), altup->rows.range, altup->vectors->range, u->range},
        GI_PARAMS_OF(params),
    };
    note_stream(recorder, altup);
    record(recorder, altup, &key, &dispatch);
}
