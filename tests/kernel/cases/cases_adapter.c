// Low-rank adapters: the term that products of a step add to their bias, and that of a batch.
#include "base/round.h"
#include "ops/gemm/adapter_rows.h"
#include "tests/kernel/cases/cases_gemv.h"

#include <stdlib.h>

enum kernel { PLAIN, NORM, RESIDUAL, POST, GLU, QKV, N_KERNEL };
static const char *const kernels[] = {"plain", "norm", "residual", "post", "glu", "qkv"};

// Makes a stream with random scales and products of matrix A after it.
static struct gi_stream adapted_stream(struct kt_run *run, uint32_t n_embd, uint32_t n_rot,
                                       uint32_t n_more)
{
    struct gi_stream stream = {0};
    const size_t size = (size_t)gi_stream_layout(&stream, n_embd, n_rot, KT_GEMV_NORM_EPS);
    const size_t begin = (size_t)gi_round_up(size / sizeof(float), 64), n = begin + n_more;
    float *values = kt_alloc(n, sizeof(*values));
    kt_fill(run, values, n, -1, 1);
    stream.n_ssq = 2;
    kt_fill(run, values + stream.ssq, stream.rope - stream.ssq, 0, (float)n_embd);
    stream.range = kt_range(run, "stream", values, n * sizeof(*values));
    run->recorder.adapter = (uint32_t)begin;
    free(values);
    return stream;
}

static uint64_t record_qkv(struct kt_run *run, const struct gi_weight *weight,
                           const struct gi_qkv_layout *layout, const struct gi_stream *stream)
{
    struct gi_kv_layer layer = {0};
    const size_t size = (size_t)gi_kv_layer_layout(&layer, layout->n_head, layout->n_kv_head,
                                                   layout->head_dim, 5, GI_CACHE_F16, GI_CACHE_F32);
    layer.range = kt_range(run, "layer", NULL, size);
    gi_op_gemv_qkv(&run->recorder, "attn_qkv", weight, layout, stream->n_rot, stream, &layer);
    return kt_weight_bytes(weight);
}

static uint64_t record_gemv_adapter(struct kt_run *run, const uint32_t *v)
{
    const enum kernel kernel = (enum kernel)v[2];
    const uint32_t rank = v[3], n_cols = v[4], n_more = gi_adapter_scales(rank) + 2 * rank;
    const struct gi_activation_rule rule = kt_activation(GI_ACTIVATION_SILU);
    struct gi_qkv_layout layout;
    gi_qkv_layout_init(&layout, 2, 1, 16);
    const uint32_t n_rows = kernel == QKV ? layout.n_rows : kernel == GLU ? 96 : 48;
    const bool reads_stream = kernel == NORM || kernel == GLU || kernel == QKV;
    const uint32_t n_x = gi_x_size(n_cols);
    const struct gi_range x = kt_random_rows(run, "x", 1, n_x + n_more, 1).range;
    const struct gi_range y = kt_range(run, "y", NULL, gi_x_size(n_rows) * sizeof(float));
    struct gi_stream stream =
        adapted_stream(run, reads_stream ? n_cols : n_rows, kernel == QKV ? 8 : 0, n_more);
    const struct gi_weight weight =
        kt_weight(run, &(struct kt_weight_params){.type = v[0],
                                                  .n_rows = n_rows,
                                                  .n_cols = n_cols,
                                                  .max_part_rows = v[5] ? 32 : 0,
                                                  .has_bias = true,
                                                  .has_gamma = kernel == RESIDUAL || kernel == POST,
                                                  .has_post = kernel == POST,
                                                  .adapter_rank = rank});
    run->recorder.adapter = reads_stream ? run->recorder.adapter : n_x;
    if (run->has_failed || !kt_gemv_set_form(run, v[1])) {
        return 0;
    }
    switch (kernel) {
    case PLAIN:
        gi_op_gemv(&run->recorder, "y", &weight, x, 0, false, y);
        break;
    case NORM:
        gi_op_gemv_norm(&run->recorder, "y", &weight, &stream, y);
        break;
    case RESIDUAL:
        gi_op_gemv_residual(&run->recorder, "out", &weight, x, 0, false, 0.5f, &stream);
        break;
    case POST:
        gi_op_gemv_post(&run->recorder, "post", &weight, x, 0, false, &stream);
        break;
    case GLU:
        gi_op_gemv_glu(&run->recorder, "act", &weight, n_rows / 2, &rule, true, &stream, y, NULL);
        break;
    default:
        return record_qkv(run, &weight, &layout, &stream);
    }
    return kt_weight_bytes(&weight);
}

static const char *const parts[] = {"whole", "in parts"};
static const struct kt_axis gemv_axes[] = {
    KT_TYPES(GI_GGML_TYPE_Q4_0),
    KT_CHOICES("form", kt_gemv_form_name, 0, 2, 4, 5, 10, 16),
    KT_NAMED("kernel", N_KERNEL, kernels),
    KT_NUMBERS("rank", 4, 20),
    KT_NUMBERS("columns", 64, 352),
    KT_NAMED("parts", 2, parts)};
KT_DESCRIBE(gemv_adapter, gemv_axes);

//-- stages ----------------------------------------------------------------------------------------

// The product of a matrix A of `rank` rows, and a product that adds the term of the adapter. Left
// out where products are not pipelined: they are those of gemv_adapter.
static uint64_t record_gemv_adapter_stage(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_cols = v[1], rank = v[2], n_embd = 48, n_x = gi_x_size(n_cols);
    const uint32_t n_t = 2 * GI_MAX_ADAPTER_SPLITS * rank;
    const struct gi_range x =
        kt_random_rows(run, "x", 1, n_x + gi_adapter_scales(rank) + n_t, 1).range;
    struct gi_stream stream = kt_gemv_stream(run, n_embd, 0);
    struct gi_weight a = kt_weight(
        run,
        &(struct kt_weight_params){.type = GI_GGML_TYPE_F16, .n_rows = 2 * rank, .n_cols = n_cols});
    struct gi_weight weight = kt_weight(run, &(struct kt_weight_params){.type = GI_GGML_TYPE_Q4_0,
                                                                        .n_rows = n_embd,
                                                                        .n_cols = n_cols,
                                                                        .has_bias = true,
                                                                        .has_gamma = true,
                                                                        .adapter_rank = rank});
    a.adapts = true;
    weight.adapter = &a;
    run->recorder.adapter = n_x;
    if (run->has_failed || !gi_program_available(run->gpu, GI_PROGRAM_GEMV_RESIDUAL_SUBGROUP) ||
        !kt_gemv_set_form(run, v[0])) {
        return 0;
    }
    const uint64_t begin = (n_x + gi_adapter_scales(rank)) * sizeof(float);
    const struct gi_range t = {x.buffer, x.offset + begin, n_t * sizeof(float)};
    gi_op_gemv(&run->recorder, "adapter", &a, x, 0, false, t);
    gi_op_gemv_residual(&run->recorder, "out", &weight, x, 0, false, 1, &stream);
    return kt_weight_bytes(&a) + kt_weight_bytes(&weight);
}

// Rows of one block a slice, and of several, whose k is split.
static const struct kt_axis stage_axes[] = {
    KT_GEMV_STAGES, KT_NUMBERS("columns", 256, 2048, 4096, 14336), KT_NUMBERS("rank", 8, 32)};
KT_DESCRIBE(gemv_adapter_stage, stage_axes);

//-- batches ---------------------------------------------------------------------------------------

static const char *const scales[] = {"of all", "of each"};

static uint64_t record_adapter_rows(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_tokens = v[0], rank = v[1], n_rows = v[2];
    const uint32_t n_scale = v[3] ? n_tokens : 1, scale_stride = gi_adapter_scales(rank);
    const struct gi_rows y = kt_random_rows(run, "y", n_tokens, n_rows + 32, 2);
    const struct gi_adapter_rows rows = {
        .t = kt_random_rows(run, "t", n_tokens, 2 * rank, 1),
        .scales = kt_random_rows(run, "scales", n_scale, scale_stride, 2).range,
        .scale_stride = v[3] ? scale_stride : 0,
    };
    const struct gi_weight weight =
        kt_weight(run, &(struct kt_weight_params){.type = GI_GGML_TYPE_Q4_0,
                                                  .n_rows = n_rows,
                                                  .n_cols = 32,
                                                  .max_part_rows = v[4] ? 48 : 0,
                                                  .has_bias = true,
                                                  .adapter_rank = rank});
    gi_op_adapter_rows(&run->recorder, "adapter_rows", &weight, &rows, v[4] ? -0.5f : 1, &y);
    return 8ull * n_tokens * n_rows + 2ull * rank * n_rows;
}

static const struct kt_axis rows_axes[] = {
    KT_NUMBERS("tokens", 1, 7, 33), KT_NUMBERS("rank", 4, 20, 192),
    KT_NUMBERS("rows", 16, 96, 2048), KT_NAMED("scales", 2, scales),
    KT_NAMED("parts and factor", 2, parts)};
KT_DESCRIBE(adapter_rows, rows_axes);
