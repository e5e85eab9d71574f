#include "ops/gemm/pack_rows.h"

#include "glsl/gemm/gemm_params.h"
#include "ops/gemm/batch_form.h"

#include <assert.h>

#define WG_SIZE 64

bool gi_rows_are_packed(const struct gi_gpu *gpu, const struct gi_rows *rows)
{
    return rows->is_half && gi_batch_form(gpu) == GI_BATCH_FORM_LANE;
}

static bool is_wanted(const struct gi_recorder *recorder, const struct gi_rows *rows)
{
    return recorder->packs_rows && gi_batch_form(recorder->gpu) == GI_BATCH_FORM_LANE &&
           gi_rows_room(rows) > gi_batch_small_tokens(recorder->gpu) &&
           gi_program_available(recorder->gpu, GI_PROGRAM_PACK_ROWS);
}

static bool is_small_type(const struct gi_weight *weight)
{
    const struct gi_weight_part *part = weight->parts, *end = part + weight->n_parts;
    bool is_small = true;
    for (; part < end; part++) {
        const uint32_t type = part->quant->type;
        is_small = is_small && (type == GI_GGML_TYPE_Q4_0 || type == GI_GGML_TYPE_Q4_1 ||
                                type == GI_GGML_TYPE_Q4_K);
    }
    return is_small;
}

void gi_op_pack_rows(struct gi_recorder *recorder, const char *label, struct gi_rows *rows,
                     uint32_t width, const struct gi_weight *weight)
{
    assert(width % 4 == 0 && rows->stride >= width && rows->stride % 32 == 0);
    if (rows->is_half || !is_wanted(recorder, rows) || !is_small_type(weight)) {
        return;
    }
    const struct gi_program_key key = GI_KEY(GI_PROGRAM_PACK_ROWS, {"WG_SIZE", WG_SIZE});
    const struct gi_half_rows_params params = {.x_stride = rows->stride, .width = width};
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {rows->range},
        GI_PARAMS_OF(params),
        .grid = {.size = {1, 1, 1}, .rule = GI_GRID_TOKENS, .axis = 0, .divisor = 1},
    };
    rows->is_half = true;
    gi_recorder_add(recorder, &key, &dispatch);
}
