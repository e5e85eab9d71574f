#include "ops/gemm/adapter_rows.h"

#include "base/round.h"
#include "glsl/gemm/gemm_params.h"

#include <assert.h>

#define WG_SIZE 64
#define TOKENS  4

void gi_op_adapter_rows(struct gi_recorder *recorder, const char *label,
                        const struct gi_weight *weight, const struct gi_adapter_rows *rows,
                        float factor, const struct gi_rows *y)
{
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_ADAPTER_ROWS, {"WG_SIZE", WG_SIZE}, {"RANK", weight->adapter_rank},
               {"TOKENS", TOKENS}, {"EACH", rows->scale_stride > 0});
    assert(weight->adapter && !y->is_half && !rows->t.is_half && y->stride >= weight->n_rows);
    const struct gi_weight_part *part = weight->parts, *end = part + weight->n_parts;
    for (; part < end; part++) {
        const struct gi_adapter_rows_params params = {
            .n_rows = part->n_rows,
            .t_stride = rows->t.stride,
            .y_stride = y->stride,
            .y_begin = part->row_begin,
            .adapter = part->bias + part->n_rows,
            .scale_stride = rows->scale_stride,
            .factor = factor,
        };
        struct gi_dispatch dispatch = {
            .label = label,
            .bindings = {y->range, rows->t.range, rows->scales, part->aux},
            GI_PARAMS_OF(params),
            .grid = {.size = {gi_divide_up(part->n_rows / 2, WG_SIZE), 1, 1},
                     .rule = GI_GRID_TOKENS,
                     .axis = 1,
                     .divisor = TOKENS},
        };
        gi_recorder_add(recorder, &key, &dispatch);
    }
}
