#include "glsl/gemv/gemv_params.h"
#include "ops/gemv/gemv.h"
#include "ops/gemv/gemv_part.h"

#include <assert.h>

// True unless a form of the kernel was found wrong: then all blocks are normed by post_norm, since
// the next reads what the last one leaves.
static bool is_trusted(const struct gi_gpu *gpu)
{
    bool is_good = true;
    for (uint32_t id = GI_PROGRAM_GEMV_POST_SPLIT; id <= GI_PROGRAM_GEMV_POST_TEXEL; id++) {
        is_good = is_good && (!gi_program_is_possible(gpu, (enum gi_program_id)id) ||
                              gi_program_available(gpu, (enum gi_program_id)id));
    }
    return is_good;
}

bool gi_gemv_post_suits(const struct gi_recorder *recorder, const struct gi_weight *weight)
{
    return !gi_recorder_is_uniform(recorder) && !gi_gemv_wants_sums(recorder->gpu) &&
           weight->is_normed && is_trusted(recorder->gpu);
}

// Returns what all parts of a weight have in common; what is read of the stream is what its latest
// producer left, and the sums that are written are the others.
static struct gi_gemv_post_params post_params(const struct gi_stream *stream, uint32_t x_offset,
                                              uint32_t parity)
{
    return (struct gi_gemv_post_params){
        .source = x_offset / 4,
        .residual = stream->residual,
        .norm = stream->norm,
        .u_offset = stream->u_offset,
        .sums = stream->part_sums[parity],
        .old_sums = stream->part_sums[1 - parity],
        .n_old = stream->n_ssq,
        .n_embd = stream->n_embd,
        .inv_n_embd = 1.0f / (float)stream->n_embd,
        .norm_eps = stream->norm_eps,
    };
}

void gi_op_gemv_post(struct gi_recorder *recorder, const char *label,
                     const struct gi_weight *weight, struct gi_range x, uint32_t x_offset,
                     bool is_scaled, struct gi_stream *stream)
{
    const uint32_t parity = stream->is_parted ? 1 - stream->parity : 0;
    struct gi_gemv_post_params params = post_params(stream, x_offset, parity);
    uint32_t n_ssq = 0;
    assert(weight->n_rows >= stream->n_embd && x_offset % 4 == 0);
    for (uint32_t i = 0; i < gi_weight_splits(weight); i++) {
        struct gi_gemv_part part;
        gi_gemv_begin_part(&part, recorder, GI_GEMV_POST, weight, i);
        gi_key_define(&part.key, "HAS_GAMMA", part.weight->gamma != GI_NO_OFFSET);
        gi_key_define(&part.key, "HAS_UPDATE", stream->is_parted);
        gi_key_define(&part.key, "SCALED", is_scaled);
        params.n_block = part.n_block;
        params.n_pair = part.n_pair;
        params.bias = part.weight->bias;
        params.post = part.weight->post;
        params.gamma = part.weight->gamma;
        params.scale = part.weight->scale;
        params.row_begin = part.weight->row_begin;
        params.sums = stream->part_sums[parity] + 4 * n_ssq;
        struct gi_dispatch dispatch = {
            .label = label,
            .bindings = {stream->range, x},
            GI_PARAMS_OF(params),
        };
        n_ssq += gi_gemv_partials(&part.shape, part.n_pair);
        assert(n_ssq <= stream->max_ssq && (!is_scaled || params.scale != GI_NO_OFFSET));
        gi_gemv_record_part(&part, recorder, &dispatch);
    }
    stream->n_ssq = n_ssq;
    stream->has_sums = false;
    stream->is_parted = true;
    stream->parity = parity;
}
