#include "ops/batch.h"
#include "ops/params.h"

#include <assert.h>

#define TILE 64 // of glsl/gemm.comp: tokens, and rows

static bool record_part(struct gi_recorder *recorder, const char *label,
                        const struct gi_weight_part *part, const struct gi_rows *x, bool is_added,
                        const struct gi_rows *y, const struct gi_gemm_params *params,
                        struct glinfer_error *err)
{
    const struct gi_program_key key = {
        .id = GI_PROGRAM_GEMM,
        .quant = part->quant->type,
        .n_defines = 2,
        .defines = {{"ADD", is_added}, {"HAS_BIAS", part->bias != GI_NO_OFFSET}},
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {y->range,                                         x->range, part->quads, part->aux},
        .writes = 1u << 0,
        .params = params,
        .params_size = sizeof(*params),
        .grid = {.size = {(part->n_rows + TILE - 1) / TILE, 1, 1},
                     .rule = GI_GRID_TOKENS,
                     .axis = 1,
                     .divisor = TILE                                                                   },
        .weight_bytes = part->quads.size + part->aux.size,
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
