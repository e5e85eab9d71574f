#include "glsl/norm/norm_params.h"
#include "ops/gemm/batch.h"

#include <assert.h>

#define WG_SIZE 64

void gi_op_gate_rows(struct gi_recorder *recorder, const char *label,
                     const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                     const struct gi_rows *x)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    const uint32_t n_column = layout->n_head * layout->head_dim;
    assert(layout->gate_begin > 0 && !x->is_half && x->stride >= n_column);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_GATE_ROWS, {"WG_SIZE", wg_size}, {"GATE_WIDTH", layout->gate_width});
    const struct gi_gate_rows_params params = {
        .x_stride = x->stride,
        .qkv_stride = qkv->stride,
        .gate_begin = layout->gate_begin,
        .n_column = n_column,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {x->range, qkv->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows((n_column + wg_size - 1) / wg_size, true),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}
