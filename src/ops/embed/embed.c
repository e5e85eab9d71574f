#include "ops/embed/embed.h"

#include "base/round.h"
#include "glsl/embed/embed_params.h"
#include "ops/embed/inputs.h"
#include "ops/gemv/gemv.h"

#include <assert.h>

// Invocations of a group: columns in fours, of a batch blocks of 32.
#define TOKEN_WG 64
#define BATCH_WG 32
#define LAST_WG  64

void gi_op_embed_token(struct gi_recorder *recorder, const struct gi_weight *weight,
                       const struct gi_vectors *vectors, uint32_t gamma_offset, float scale,
                       struct gi_stream *stream)
{
    assert(weight->n_cols == stream->n_embd && stream->n_embd % 4 == 0 && gamma_offset % 4 == 0);
    const uint32_t wg_size = gi_recorder_wg_size(recorder, TOKEN_WG);
    const uint32_t n_block = gi_weight_blocks(weight);
    const enum gi_publish publishes =
        gi_recorder_is_uniform(recorder) ? GI_PUBLISH_SOME : GI_PUBLISH_NONE;
    stream->has_sums = gi_gemv_wants_sums(recorder->gpu);
    stream->is_parted = false;
    stream->n_ssq = gi_divide_up((uint64_t)n_block * (GI_QUANT_BLOCK / 4), wg_size);
    assert(stream->n_ssq <= stream->max_ssq);
    for (uint32_t i = 0; i < weight->n_parts; i++) {
        const struct gi_weight_part *part = &weight->parts[i];
        const struct gi_program_key key =
            GI_WEIGHT_KEY(GI_PROGRAM_EMBED_TOKEN, part->quant->type, {"WG_SIZE", wg_size},
                          {"WRITE_SUMS", stream->has_sums}, {"PUBLISHES", publishes});
        const struct gi_embed_token_params params = {
            .row_begin = part->row_begin,
            .n_rows = part->n_rows,
            .n_block = n_block,
            .n_embd = stream->n_embd,
            .residual = stream->residual,
            .norm = stream->norm,
            .ssq = stream->ssq,
            .rope_row = stream->rope,
            .gamma = gamma_offset,
            .rope_table = vectors->rope,
            .n_rot = stream->n_rot,
            .scale = scale,
        };
        // One group copies the row of the table of rotations.
        struct gi_dispatch dispatch = {
            .label = "embed_token",
            .bindings = {stream->range, vectors->range, part->quads, part->aux},
            GI_PARAMS_OF(params),
            .grid = {.size = {stream->n_ssq + 1, 1, 1}},
            .publishes = publishes,
        };
        gi_recorder_add(recorder, &key, &dispatch);
    }
}

void gi_op_embed_batch(struct gi_recorder *recorder, const struct gi_weight *weight,
                       struct gi_range tokens, float scale, const struct gi_rows *x)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, BATCH_WG);
    assert(x->stride % 32 == 0 && x->stride >= weight->n_cols);
    for (uint32_t i = 0; i < weight->n_parts; i++) {
        const struct gi_weight_part *part = &weight->parts[i];
        struct gi_program_key key =
            GI_WEIGHT_KEY(GI_PROGRAM_EMBED_BATCH, part->quant->type, {"WG_SIZE", wg_size});
        const struct gi_embed_batch_params params = {
            .row_begin = part->row_begin,
            .n_rows = part->n_rows,
            .n_block = gi_weight_blocks(weight),
            .stride = x->stride,
            .scale = scale,
        };
        struct gi_dispatch dispatch = {
            .label = "embed_batch",
            .bindings = {x->range, tokens, part->quads, part->aux},
            GI_PARAMS_OF(params),
            .grid = gi_grid_rows(gi_divide_up(params.n_block, wg_size), true),
        };
        if (gi_recorder_is_joint(recorder)) {
            dispatch.grid.rule = GI_GRID_FIXED;
            gi_recorder_add_slots(recorder, 1, &key, &dispatch);
        } else if (!tokens.buffer) {
            gi_key_define(&key, "STEP", 1);
        }
        gi_recorder_add(recorder, &key, &dispatch);
    }
}

void gi_op_embed_row(struct gi_recorder *recorder, const struct gi_weight *weight, float scale,
                     const struct gi_rows *inputs)
{
    gi_op_embed_batch(recorder, weight, (struct gi_range){0}, scale, inputs);
}

void gi_op_add_positions(struct gi_recorder *recorder, const struct gi_vectors *vectors,
                         uint32_t table, uint32_t width, const struct gi_rows *x, bool is_batch)
{
    assert(width % 4 == 0 && table % 4 == 0 && x->stride % 4 == 0);
    struct gi_program_key key = GI_KEY(GI_PROGRAM_ADD_POSITIONS, {"WG_SIZE", BATCH_WG});
    const struct gi_add_positions_params params = {
        .x_stride = x->stride, .width = width, .table = table};
    struct gi_dispatch dispatch = {
        .label = "add_positions",
        .bindings = {x->range, {0}, vectors->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(gi_divide_up(width / 4, BATCH_WG),
                             is_batch && !gi_recorder_is_joint(recorder)),
    };
    gi_recorder_add_slots(recorder, 1, &key, &dispatch);
    gi_recorder_add(recorder, &key, &dispatch);
}

void gi_op_last_row(struct gi_recorder *recorder, const struct gi_rows *x,
                    const struct gi_vectors *vectors, uint32_t gamma_offset,
                    struct gi_stream *stream)
{
    assert(stream->n_embd % 4 == 0 && gamma_offset % 4 == 0 && x->stride % 32 == 0);
    const uint32_t wg_size = gi_recorder_wg_size(recorder, LAST_WG);
    const struct gi_program_key key = GI_KEY(GI_PROGRAM_LAST_ROW, {"WG_SIZE", wg_size},
                                             {"WRITE_SUMS", gi_gemv_wants_sums(recorder->gpu)});
    const struct gi_last_row_params params = {
        .stride = x->stride,
        .n_embd = stream->n_embd,
        .gamma = gamma_offset,
        .norm = stream->norm,
        .ssq = stream->ssq,
        .residual = stream->residual,
    };
    struct gi_dispatch dispatch = {
        .label = "last_row",
        .bindings = {stream->range, x->range, vectors->range},
        GI_PARAMS_OF(params),
        .grid = {.size = {gi_divide_up(stream->n_embd / 4, wg_size), 1, 1}},
    };
    stream->n_ssq = dispatch.grid.size[0];
    stream->has_sums = gi_gemv_wants_sums(recorder->gpu);
    stream->is_parted = false;
    assert(stream->n_ssq <= stream->max_ssq);
    gi_recorder_add(recorder, &key, &dispatch);
}
