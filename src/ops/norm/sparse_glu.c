#include "ops/norm/sparse_glu.h"

#include "base/round.h"
#include "glsl/norm/norm_params.h"

#include <assert.h>

#define WG_SIZE 64 // columns in fours

void gi_op_sparse_glu(struct gi_recorder *recorder, const char *label, bool is_batch,
                      const struct gi_sparsity *sparsity, const struct gi_rows *gate_up,
                      uint32_t up_begin, const struct gi_rows *act)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    const uint32_t n_group = is_batch ? 1 : gi_divide_up(sparsity->n / 4, wg_size);
    assert(sparsity->n > 1 && sparsity->n % 4 == 0 && up_begin % 4 == 0);
    assert(!act->is_half && act->stride >= sparsity->n);
    assert(up_begin >= sparsity->n && gate_up->stride >= up_begin + sparsity->n);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_SPARSE_GLU, {"WG_SIZE", wg_size}, {"ACTIVATION", sparsity->activation});
    const struct gi_sparse_glu_params params = {
        .gate_up_stride = gate_up->stride,
        .act_stride = act->stride,
        .up_begin = up_begin,
        .n = sparsity->n,
        .n_step = n_group * wg_size,
        .deviations = sparsity->deviations,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {act->range, gate_up->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(n_group, is_batch),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}
