#include "ops/norm/slice_norm.h"

#include "glsl/norm/norm_params.h"

#include <assert.h>

#define WG_SIZE      64
#define WIDE_WG_SIZE 128
#define WIDE_WIDTH   512

void gi_op_slice_norm(struct gi_recorder *recorder, const char *label,
                      const struct gi_slice_norm *norm, bool is_batch, const struct gi_rows *x,
                      const struct gi_vectors *vectors, const struct gi_rows *y)
{
    const struct gi_rows *gate = norm->gate;
    const bool is_in_place =
        x->range.buffer == y->range.buffer && x->range.offset == y->range.offset;
    assert(norm->width % 4 == 0 && norm->gamma % 4 == 0 && norm->gate_begin % 4 == 0);
    assert(x->stride >= norm->n * norm->width && !x->is_half);
    assert(y->stride >= norm->n * norm->width && !y->is_half);
    assert(!is_in_place || !(gate || norm->is_added));
    const uint32_t wg_size =
        gi_recorder_wg_size(recorder, norm->width >= WIDE_WIDTH ? WIDE_WG_SIZE : WG_SIZE);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_SLICE_NORM, {"WG_SIZE", wg_size}, {"ADDED", norm->is_added},
               {"GATED", gate != NULL}, {"IN_PLACE", is_in_place});
    const struct gi_slice_norm_params params = {
        .x_stride = x->stride,
        .y_stride = y->stride,
        .z_stride = gate ? gate->stride : 0,
        .z = norm->gate_begin,
        .width = norm->width,
        .gamma = norm->gamma,
        .gamma_step = norm->has_each_gamma ? norm->width : 0,
        .eps = norm->eps,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {y->range, is_in_place ? (struct gi_range){0} : x->range, vectors->range,
                     gate ? gate->range : (struct gi_range){0}},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(norm->n, is_batch),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}
