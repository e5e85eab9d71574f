#include "ops/conv/short_conv.h"

#include "glsl/conv/conv_params.h"

#include <assert.h>

#define WG_SIZE 64
#define TOKENS  8 // of an invocation in a batch: at least n_taps - 1

uint32_t gi_short_conv_state_size(const struct gi_short_conv *conv)
{
    return (conv->n_taps - 1) * conv->n_channel;
}

void gi_op_short_conv(struct gi_recorder *recorder, const struct gi_short_conv *conv, bool is_batch,
                      const struct gi_rows *bcx, const struct gi_vectors *vectors,
                      struct gi_range past, const struct gi_rows *y)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE), n_quad = conv->n_channel / 4;
    const uint32_t n_tokens = is_batch ? TOKENS : 1;
    assert(conv->n_taps >= 2 && conv->n_taps - 1 <= TOKENS && conv->n_channel % 4 == 0);
    assert(conv->n_after < conv->n_taps && (is_batch || conv->n_after == 0));
    assert(conv->section % 4 == 0 && bcx->stride % 4 == 0 && y->stride % 4 == 0 && !y->is_half);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_SHORT_CONV, {"WG_SIZE", wg_size}, {"TAPS", conv->n_taps},
               {"N_AFTER", conv->n_after}, {"TOKENS", n_tokens});
    const struct gi_short_conv_params params = {
        .y_stride = y->stride,
        .bcx_stride = bcx->stride,
        .section = conv->section,
        .n_channel = conv->n_channel,
        .taps = conv->taps,
    };
    struct gi_dispatch dispatch = {
        .label = "short_conv",
        .bindings = {y->range, bcx->range, vectors->range, past},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .grid = {.size = {(n_quad + wg_size - 1) / wg_size, 1, 1},
                 .rule = is_batch ? GI_GRID_TOKENS : GI_GRID_FIXED,
                 .axis = 1,
                 .divisor = n_tokens},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}
