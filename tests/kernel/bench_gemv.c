// The projections of whole models, for measuring: several copies of each weight follow each other, so
// that a cache does not stand in for memory; in f32, and in f16 where the device has fast halves and the type such
// products. GLINFER_GEMV chooses the shape.
#include "kernel_test.h"
#include "ops/gemv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COPY 64

enum projection { QKV, RESIDUAL, GLU, VOCAB };

struct bench {
    const char *model;
    enum projection projection;
    uint32_t type;
    uint32_t n_rows, n_cols; // of VOCAB, a part of the vocabulary where a block could not hold all
    uint32_t n_head, n_kv_head, head_dim; // of QKV
};

static const struct bench benches[] = {
    {"smollm2 qkv",     QKV,      GI_GGML_TYPE_Q4_1,    960,   576,   9,  3, 64 },
    {"smollm2 out",     RESIDUAL, GI_GGML_TYPE_Q4_1,    576,   576,   0,  0, 0  },
    {"smollm2 gate_up", GLU,      GI_GGML_TYPE_Q4_1,    3072,  576,   0,  0, 0  },
    {"smollm2 down",    RESIDUAL, GI_GGML_TYPE_Q4_1,    576,   1536,  0,  0, 0  },
    {"smollm2 vocab",   VOCAB,    GI_GGML_TYPE_Q8_0,    49152, 576,   0,  0, 0  },
    {"1b qkv",          QKV,      GI_GGML_TYPE_Q4_0,    3072,  2048,  32, 8, 64 },
    {"1b out",          RESIDUAL, GI_GGML_TYPE_Q4_0,    2048,  2048,  0,  0, 0  },
    {"1b gate_up",      GLU,      GI_GGML_TYPE_Q4_0,    16384, 2048,  0,  0, 0  },
    {"1b down",         RESIDUAL, GI_GGML_TYPE_Q4_0,    2048,  8192,  0,  0, 0  },
    {"1b vocab",        VOCAB,    GI_GGML_TYPE_Q8_0,    64128, 2048,  0,  0, 0  },
    {"1b gate_up",      GLU,      GI_GGML_TYPE_Q4_K,    16384, 2048,  0,  0, 0  },
    {"1b down",         RESIDUAL, GI_GGML_TYPE_Q5_K,    2048,  8192,  0,  0, 0  },
    {"1b down",         RESIDUAL, GI_GGML_TYPE_Q6_K,    2048,  8192,  0,  0, 0  },
    {"1b down",         RESIDUAL, GI_GGML_TYPE_IQ4_XS,  2048,  8192,  0,  0, 0  },
    {"8b qkv",          QKV,      GI_GGML_TYPE_Q4_0,    6144,  4096,  32, 8, 128},
    {"8b out",          RESIDUAL, GI_GGML_TYPE_Q4_0,    4096,  4096,  0,  0, 0  },
    {"8b gate_up",      GLU,      GI_GGML_TYPE_Q4_0,    28672, 4096,  0,  0, 0  },
    {"8b gate_up",      GLU,      GI_GGML_TYPE_Q4_K,    28672, 4096,  0,  0, 0  },
    {"8b down",         RESIDUAL, GI_GGML_TYPE_Q4_0,    4096,  14336, 0,  0, 0  },
    {"8b vocab",        VOCAB,    GI_GGML_TYPE_Q8_0,    64128, 4096,  0,  0, 0  },
 // Every type at one shape, so that a slow one is seen.
    {"type",            RESIDUAL, GI_GGML_TYPE_F16,     4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_BF16,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q8_0,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q4_0,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q4_1,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q5_0,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q5_1,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q2_K,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q3_K,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q4_K,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q5_K,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_Q6_K,    4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_IQ4_NL,  4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_IQ4_XS,  4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_MXFP4,   4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_TQ1_0,   4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_TQ2_0,   4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_IQ1_S,   4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_IQ1_M,   4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_IQ2_XXS, 4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_IQ2_XS,  4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_IQ2_S,   4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_IQ3_XXS, 4096,  14336, 0,  0, 0  },
    {"type",            RESIDUAL, GI_GGML_TYPE_IQ3_S,   4096,  14336, 0,  0, 0  },
};

// What all copies read and write.
struct buffers {
    struct gi_stream stream;
    struct gi_kv_layer layer;
    struct gi_logits logits;
    struct gi_range act; // x of RESIDUAL, result of GLU
};

static const struct bench *bench_at(size_t index)
{
    return &benches[index % COUNT(benches)];
}

static bool is_half_at(size_t index)
{
    return index >= COUNT(benches);
}

// By groups that stay, as many as GLINFER_DISPATCH=persistent says.
static bool is_stay_at(size_t index)
{
    return index >= 2 * COUNT(benches);
}

static void name_bench(size_t index, char *text, size_t size)
{
    const struct bench *b = bench_at(index);
    snprintf(text, size, "%s%s %s %u x %u%s", is_stay_at(index) ? "stay " : "", b->model,
             gi_ggml_type_find(b->type)->name, b->n_rows, b->n_cols,
             is_half_at(index) ? " in f16" : "");
}

static bool has_f16(const struct kt_run *run, const struct bench *b)
{
    const struct gi_limits *limits = gi_gpu_limits(run->gpu);
    return limits->has_fast_half && limits->keeps_half_denormals &&
           (b->type == GI_GGML_TYPE_Q4_0 || b->type == GI_GGML_TYPE_Q4_1 ||
            b->type == GI_GGML_TYPE_Q8_0 || b->type == GI_GGML_TYPE_Q4_K);
}

static bool make_buffers(struct kt_run *run, const struct bench *b, struct buffers *buffers)
{
    uint32_t n_embd = b->projection == RESIDUAL ? b->n_rows : b->n_cols;
    size_t size = (size_t)gi_stream_layout(&buffers->stream, n_embd, b->head_dim, 1e-5f);
    buffers->stream.range = kt_range(run, "stream", NULL, size);
    buffers->stream.n_ssq = (n_embd + 15) / 16;
    buffers->stream.has_sums = gi_gemv_wants_sums(run->gpu);
    size = gi_x_size(b->n_cols > b->n_rows ? b->n_cols : b->n_rows) * sizeof(float);
    buffers->act = kt_range(run, "act", NULL, size);
    size = (size_t)gi_logits_layout(&buffers->logits, b->n_rows);
    buffers->logits.range = kt_range(run, "logits", NULL, size);
    if (b->projection == QKV) {
        size = (size_t)gi_kv_layer_layout(&buffers->layer, b->n_head, b->n_kv_head, b->head_dim, 16,
                                          false, false);
        buffers->layer.range = kt_range(run, "layer", NULL, size);
    }
    return !run->has_failed;
}

static bool record_copy(struct kt_run *run, const struct bench *b, const struct gi_weight *weight,
                        struct buffers *buffers)
{
    struct glinfer_error err;
    struct gi_recorder *recorder = &run->recorder;
    struct gi_stream *stream = &buffers->stream;
    struct gi_qkv_layout layout;
    bool is_recorded = false;
    switch (b->projection) {
    case QKV:
        gi_qkv_layout_init(&layout, b->n_head, b->n_kv_head, b->head_dim);
        is_recorded = gi_op_gemv_qkv(recorder, b->model, weight, &layout, stream->n_rot, stream,
                                     &buffers->layer, &err);
        break;
    case RESIDUAL:
        is_recorded = gi_op_gemv_residual(recorder, b->model, weight, buffers->act, 0,
                                          gi_gemv_wants_sums(run->gpu), 1, stream, &err);
        break;
    case GLU:
        is_recorded = gi_op_gemv_glu(recorder, b->model, weight, b->n_rows / 2, GI_ACTIVATION_SILU,
                                     true, stream, buffers->act, NULL, &err);
        break;
    case VOCAB:
        is_recorded =
            gi_op_gemv_vocab(recorder, b->model, weight, stream, 1, 0, &buffers->logits, &err);
        break;
    }
    return is_recorded || kt_fail(run, "%s", err.message);
}

// Copies that together are larger than caches, but for a device that has no memory of its own.
static uint32_t count_copies(const struct kt_run *run, uint64_t bytes)
{
    bool is_software = gi_gpu_platform(run->gpu)->is_software;
    uint64_t n = (is_software ? 32u << 20 : 512u << 20) / bytes + 1;
    return n < MAX_COPY ? (uint32_t)n : MAX_COPY;
}

static bool run_bench(struct kt_run *run, size_t index)
{
    const struct bench *b = bench_at(index);
    const struct kt_weight_params params = {.type = b->type,
                                            .n_rows = b->n_rows,
                                            .n_cols = b->n_cols,
                                            .has_gamma = b->projection == RESIDUAL,
                                            .is_blank = true};
    struct buffers buffers = {0};
    uint64_t bytes = 0;
    run->recorder.is_half = is_half_at(index);
    if (is_half_at(index) && !has_f16(run, b)) {
        return true;
    }
    if (is_stay_at(index)) {
        run->recorder.group_size = gi_gpu_persistent(run->gpu)->params.group_size;
        run->recorder.n_groups = gi_gpu_persistent(run->gpu)->params.n_groups;
    }
    bool is_good = make_buffers(run, b, &buffers);
    run->n_copy = 1;
    for (uint32_t i = 0; is_good && i < run->n_copy; i++) {
        struct kt_weight weight;
        is_good =
            kt_weight_init(&weight, run, &params) && record_copy(run, b, &weight.weight, &buffers);
        bytes += kt_weight_bytes(&weight.weight);
        run->n_copy = i == 0 ? count_copies(run, bytes) : run->n_copy;
    }
    return is_good && kt_seal(run) && kt_replay(run, 0, 1) && kt_bench(run, 0, 1, bytes);
}

const struct kt_suite kt_gemv_bench = {
    .kernel = "bench_gemv",
    .n_case = 3 * COUNT(benches),
    .name = name_bench,
    .run = run_bench,
};
