#include "ops/sample/logit_rows.h"

#include "base/round.h"
#include "glsl/sample/sample_params.h"

#include <assert.h>

// Invocations of a group, and logits of each: glsl/sample/logit_rows.comp.
#define WG_SIZE  64
#define N_LOGITS 32

void gi_op_logit_rows(struct gi_recorder *recorder, const char *label, const struct gi_rows *rows,
                      float scale, float softcap, struct gi_logits *layout)
{
    struct gi_program_key key = GI_KEY(GI_PROGRAM_LOGIT_ROWS, {"WG_SIZE", WG_SIZE},
                                       {"N_LOGITS", N_LOGITS}, {"SOFTCAP", softcap > 0});
    gi_key_option(&key, "AT_ONCE", gi_gpu_class(recorder->gpu)->row_loads);
    const struct gi_logit_rows_params params = {
        .stride = rows->stride,
        .n_vocab = layout->n_vocab,
        .partial = layout->partial,
        .scale = scale,
        .softcap = softcap,
    };
    const uint32_t n_group = (uint32_t)gi_divide_up(layout->n_vocab, (uint64_t)WG_SIZE * N_LOGITS);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {rows->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows(n_group, true),
    };
    layout->n_partial = n_group * WG_SIZE;
    assert(layout->n_partial <= layout->max_partial && rows->stride > layout->scratch);
    gi_recorder_add(recorder, &key, &dispatch);
}
