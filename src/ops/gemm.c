#include "ops/batch.h"
#include "ops/batch_class.h"
#include "ops/gemv_batch.h"
#include "ops/params.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// How a device's class spreads the product over groups.
struct gemm_shape {
    enum gi_program_id program;
    uint32_t n_rows, n_tokens; // of a group
    uint32_t n_defines;
};

// TILES of glsl/gemm_row.comp: twelve divide the widths of common models, and the program compiles
// in a second.
#define ROW_TILES 12

// TOKENS of glsl/gemm_lane.comp.
static uint32_t lane_tokens(const struct gi_gpu *gpu)
{
    return gi_program_available(gpu, GI_PROGRAM_GEMM) ? 4 : 2; // the registers of Mali-T
}

// Groups that a large GPU runs at once: GL does not say.
#define WAVE_GROUPS 128

static uint32_t ceil_div(uint32_t n, uint32_t by)
{
    return (n + by - 1) / by;
}

// Waves of groups take time by their tile: on an H200 one of 64 x 128 in glsl/gemm_wide.comp 125
// units, one of 64 x 64 in glsl/gemm.comp 71. Where the latter do not fill a wave, gemm_wide.comp
// wins with that tile, too. GLINFER_GEMM=64x128, 64x64 or narrow overrules it.
static struct gemm_shape choose_tile(const struct gi_gpu *gpu, uint32_t n_tokens, uint32_t n_rows)
{
    const struct gemm_shape narrow = {GI_PROGRAM_GEMM, 64, 64, 2};
    const struct gemm_shape square = {GI_PROGRAM_GEMM_WIDE, 64, 64, 3};
    const struct gemm_shape wide = {GI_PROGRAM_GEMM_WIDE, 128, 64, 3};
    const char *asked = getenv("GLINFER_GEMM");
    bool has_wide = gi_program_available(gpu, GI_PROGRAM_GEMM_WIDE);
    bool fits_wide = has_wide && gi_gpu_limits(gpu)->max_shared_size >= (64 + 128) * 32 * 4;
    if (!has_wide || (asked && strcmp(asked, "narrow") == 0)) {
        return narrow;
    }
    if (asked && strcmp(asked, "64x64") == 0) {
        return square;
    }
    if (asked && strcmp(asked, "64x128") == 0 && fits_wide) {
        return wide;
    }
    uint32_t n_square = ceil_div(n_tokens, 64) * ceil_div(n_rows, 64);
    uint32_t n_wide = ceil_div(n_tokens, 64) * ceil_div(n_rows, 128);
    if (n_square <= WAVE_GROUPS) {
        return square;
    }
    bool is_wide = 125 * ceil_div(n_wide, WAVE_GROUPS) < 71 * ceil_div(n_square, WAVE_GROUPS);
    return fits_wide && is_wide ? wide : narrow;
}

// Through buffer textures where both operands fit.
static struct gemm_shape choose_row(const struct gi_gpu *gpu, const struct gi_weight_part *part,
                                    const struct gi_rows *x, uint32_t max_tokens)
{
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    bool is_texel = gi_program_available(gpu, GI_PROGRAM_GEMM_ROW_TEXEL) &&
                    gi_weight_part_fits_texels(limits, part) &&
                    x->range.size / 16 <= limits->max_texels;
    return (struct gemm_shape){is_texel ? GI_PROGRAM_GEMM_ROW_TEXEL : GI_PROGRAM_GEMM_ROW,
                               ROW_TILES * GI_TILE_ROWS, max_tokens > 4 ? 8 : 4, 4};
}

static uint32_t max_tokens_of(const struct gi_rows *x)
{
    return (uint32_t)(x->range.size / (x->stride * sizeof(float)));
}

static struct gemm_shape choose_shape(const struct gi_gpu *gpu, const struct gi_weight_part *part,
                                      const struct gi_rows *x)
{
    uint32_t max_tokens = max_tokens_of(x);
    switch (gi_batch_form(gpu)) {
    case GI_BATCH_FORM_ROW:
        return choose_row(gpu, part, x, max_tokens);
    case GI_BATCH_FORM_LANE:
        return (struct gemm_shape){GI_PROGRAM_GEMM_LANE, 64, lane_tokens(gpu), 3};
    default:
        return choose_tile(gpu, max_tokens, part->n_rows);
    }
}

static struct gi_program_key make_key(const struct gemm_shape *shape,
                                      const struct gi_weight_part *part, bool is_added)
{
    bool is_wide = shape->program == GI_PROGRAM_GEMM_WIDE;
    return (struct gi_program_key){
        .id = shape->program,
        .quant = part->quant->type,
        .n_defines = shape->n_defines,
        .defines = {{"ADD", is_added},
                    {"HAS_BIAS", part->bias != GI_NO_OFFSET},
                    is_wide ? (struct gi_define){"ROWS", (int32_t)shape->n_rows}
                            : (struct gi_define){"TOKENS", (int32_t)shape->n_tokens},
                    {"TILES", ROW_TILES}},
    };
}

static bool record_part(struct gi_recorder *recorder, const char *label,
                        const struct gi_weight_part *part, const struct gi_rows *x, bool is_added,
                        const struct gi_rows *y, const struct gi_gemm_params *params,
                        struct glinfer_error *err)
{
    if (gi_gemv_batch_suits(recorder->gpu, max_tokens_of(x))) {
        return gi_gemv_batch_record(recorder, label, part, x, is_added, y, params, err);
    }
    struct gemm_shape shape = choose_shape(recorder->gpu, part, x);
    struct gi_program_key key = make_key(&shape, part, is_added);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {y->range,                                                         x->range, part->quads, part->aux},
        .writes = 1u << 0,
        .params = params,
        .params_size = sizeof(*params),
        .grid = {.size = {(part->n_rows + shape.n_rows - 1) / shape.n_rows, 1, 1},
                     .rule = GI_GRID_TOKENS,
                     .axis = 1,
                     .divisor = shape.n_tokens                                                                         },
        .weight_bytes = part->quads.size + part->aux.size,
        .n_weight = (uint64_t)part->n_rows * params->n_block * GI_QUANT_BLOCK,
    };
    if (shape.program == GI_PROGRAM_GEMM_ROW_TEXEL) {
        dispatch.texels[1] = GI_TEXEL_VEC4;
        dispatch.texels[2] = GI_TEXEL_UVEC4;
        dispatch.texels[3] = GI_TEXEL_UINT;
    }
    return gi_program_table_request(recorder->programs, &key, &dispatch.program, err) &&
           gi_dispatch_table_record(recorder->table, &dispatch, err);
}

bool gi_op_gemm(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                const struct gi_rows *x, bool is_added, float scale, const struct gi_rows *y,
                struct glinfer_error *err)
{
    assert(x->stride % 32 == 0 && x->stride >= weight->n_cols && y->stride >= weight->n_rows);
    for (uint32_t i = 0; i < weight->n_parts; i++) {
        const struct gi_weight_part *part = &weight->parts[i];
        const struct gi_gemm_params params = {
            .n_rows = part->n_rows,
            .n_block = gi_weight_blocks(weight),
            .x_stride = x->stride,
            .y_stride = y->stride,
            .y_begin = part->row_begin,
            .bias = part->bias,
            .scale = scale,
        };
        if (!record_part(recorder, label, part, x, is_added, y, &params, err)) {
            return false;
        }
    }
    return true;
}
