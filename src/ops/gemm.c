#include "ops/batch.h"
#include "ops/batch_class.h"
#include "ops/params.h"

#include <assert.h>

// How a device's class spreads the product over groups.
struct gemm_shape {
    enum gi_program_id program;
    uint32_t n_rows, n_tokens; // of a group
    uint32_t n_defines;
};

// TILES and TOKENS of glsl/gemm_row.comp: twelve tiles divide the widths of common models, and the
// program compiles in a second.
#define ROW_TILES  12
#define ROW_TOKENS 8

// TOKENS of glsl/gemm_lane.comp.
static uint32_t lane_tokens(const struct gi_gpu *gpu)
{
    return gi_program_available(gpu, GI_PROGRAM_GEMM) ? 4 : 2; // the registers of Mali-T
}

static struct gemm_shape choose_shape(const struct gi_gpu *gpu)
{
    switch (gi_batch_form(gpu)) {
    case GI_BATCH_FORM_ROW:
        return (struct gemm_shape){GI_PROGRAM_GEMM_ROW, ROW_TILES * GI_TILE_ROWS, ROW_TOKENS, 4};
    case GI_BATCH_FORM_LANE:
        return (struct gemm_shape){GI_PROGRAM_GEMM_LANE, 64, lane_tokens(gpu), 3};
    default:
        return (struct gemm_shape){GI_PROGRAM_GEMM, 64, 64, 2};
    }
}

static struct gi_program_key make_key(const struct gemm_shape *shape,
                                      const struct gi_weight_part *part, bool is_added)
{
    return (struct gi_program_key){
        .id = shape->program,
        .quant = part->quant->type,
        .n_defines = shape->n_defines,
        .defines = {{"ADD", is_added},
                    {"HAS_BIAS", part->bias != GI_NO_OFFSET},
                    {"TOKENS", (int32_t)shape->n_tokens},
                    {"TILES", ROW_TILES}},
    };
}

static bool record_part(struct gi_recorder *recorder, const char *label,
                        const struct gi_weight_part *part, const struct gi_rows *x, bool is_added,
                        const struct gi_rows *y, const struct gi_gemm_params *params,
                        struct glinfer_error *err)
{
    struct gemm_shape shape = choose_shape(recorder->gpu);
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
