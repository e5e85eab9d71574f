#include "ops/sample/logprob.h"

#include "glsl/sample/sample_params.h"

#include <assert.h>

#define WG_SIZE 128

void gi_op_logprob(struct gi_recorder *recorder, const struct gi_rows *logits, uint32_t n_vocab,
                   float scale, float softcap, struct gi_range targets, struct gi_range out)
{
    assert(n_vocab > 0 && logits->stride >= n_vocab);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_LOGPROB, {"WG_SIZE", WG_SIZE}, {"SOFTCAP", softcap > 0});
    const struct gi_logprob_params params = {
        .stride = logits->stride,
        .n_vocab = n_vocab,
        .one = 1,
        .scale = scale,
        .softcap = softcap,
    };
    struct gi_dispatch dispatch = {
        .label = "logprob",
        .bindings = {out, logits->range, targets},
        GI_PARAMS_OF(params),
        .grid = {.size = {1, 1, 1}, .rule = GI_GRID_TOKENS, .axis = 0, .divisor = 1},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}
