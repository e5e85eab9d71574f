#include "glsl/norm/norm_params.h"
#include "ops/gemv/gemv.h"

#include <assert.h>

#define WG_SIZE 64 // columns in fours

void gi_op_post_norm(struct gi_recorder *recorder, const char *label, struct gi_range y,
                     const struct gi_vectors *vectors, uint32_t gamma, uint32_t next_gamma,
                     uint32_t out_scale, struct gi_stream *stream)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    const bool has_gamma = next_gamma != UINT32_MAX;
    const bool has_sums = has_gamma && gi_gemv_wants_sums(recorder->gpu);
    assert(stream->n_embd % 4 == 0 && gamma % 4 == 0 && (!has_gamma || next_gamma % 4 == 0));
    struct gi_program_key key = GI_KEY(GI_PROGRAM_POST_NORM, {"WG_SIZE", wg_size},
                                       {"HAS_GAMMA", has_gamma}, {"WRITE_SUMS", has_sums});
    gi_key_option(&key, "SCALED", out_scale != UINT32_MAX);
    const struct gi_post_norm_params params = {
        .n_embd = stream->n_embd,
        .gamma = gamma,
        .next_gamma = next_gamma,
        .residual = stream->residual,
        .norm = stream->norm,
        .ssq = stream->ssq,
        .out_scale = out_scale,
        .eps = stream->norm_eps,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {stream->range, y, vectors->range},
        GI_PARAMS_OF(params),
        .grid = {.size = {(stream->n_embd / 4 + wg_size - 1) / wg_size, 1, 1}},
    };
    stream->n_ssq = dispatch.grid.size[0];
    stream->has_sums = has_sums;
    assert(!stream->is_parted);
    assert(stream->n_ssq <= stream->max_ssq);
    gi_recorder_add(recorder, &key, &dispatch);
}
