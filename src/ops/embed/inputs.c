#include "ops/embed/inputs.h"

#include "base/round.h"
#include "glsl/embed/embed_params.h"

#include <assert.h>

#define WG_SIZE 64 // columns in fours

void gi_op_add_inputs(struct gi_recorder *recorder, const char *label,
                      const struct gi_input_norm *norm, const struct gi_rows *y,
                      const struct gi_vectors *vectors, const struct gi_rows *inputs)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    assert(norm->width % 4 == 0 && norm->gamma % 4 == 0);
    assert(y->stride >= norm->n * norm->width && inputs->stride >= norm->n * norm->width);
    const struct gi_program_key key = GI_KEY(GI_PROGRAM_ADD_INPUTS, {"WG_SIZE", wg_size});
    const struct gi_add_inputs_params params = {
        .stride = inputs->stride,
        .y_stride = y->stride,
        .width = norm->width,
        .gamma = norm->gamma,
        .eps = norm->eps,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {inputs->range, y->range, vectors->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(norm->n, true),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

void gi_op_gate_input(struct gi_recorder *recorder, const char *label, const struct gi_rows *gate,
                      const struct gi_rows *inputs, uint32_t begin, uint32_t width,
                      enum gi_activation activation, const struct gi_rows *act)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    assert(width % 4 == 0 && begin % 4 == 0 && !act->is_half);
    assert(gate->stride >= width && inputs->stride >= begin + width && act->stride >= width);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_GATE_INPUT, {"WG_SIZE", wg_size}, {"ACTIVATION", activation});
    const struct gi_gate_input_params params = {
        .gate_stride = gate->stride,
        .stride = inputs->stride,
        .begin = begin,
        .width = width,
        .act_stride = act->stride,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {act->range, gate->range, inputs->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(gi_divide_up(width / 4, wg_size), true),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}
