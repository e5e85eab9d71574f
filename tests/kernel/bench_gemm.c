// The projections of whole models for a prompt's batch, for measuring: blank weights, so that only the
// time counts; in f32, and in f16 where the device has fast halves. GLINFER_GEMM chooses the tile.
#include "kernel_test.h"
#include "ops/batch.h"
#include "ops/half_rows.h"

#include <stdio.h>

static const struct bench {
    const char *model;
    uint32_t type, n_rows, n_cols;
    bool is_added;
} benches[] = {
    {"smollm2 qkv",     GI_GGML_TYPE_Q4_0, 960,   576,   false},
    {"smollm2 out",     GI_GGML_TYPE_Q4_0, 576,   576,   true },
    {"smollm2 gate_up", GI_GGML_TYPE_Q4_0, 3072,  576,   false},
    {"smollm2 down",    GI_GGML_TYPE_Q4_0, 576,   1536,  true },
    {"1b qkv",          GI_GGML_TYPE_Q4_0, 3072,  2048,  false},
    {"1b out",          GI_GGML_TYPE_Q4_0, 2048,  2048,  true },
    {"1b gate_up",      GI_GGML_TYPE_Q4_0, 16384, 2048,  false},
    {"1b down",         GI_GGML_TYPE_Q4_0, 2048,  8192,  true },
    {"8b qkv",          GI_GGML_TYPE_Q4_0, 6144,  4096,  false},
    {"8b out",          GI_GGML_TYPE_Q4_0, 4096,  4096,  true },
    {"8b gate_up",      GI_GGML_TYPE_Q4_0, 28672, 4096,  false},
    {"8b down",         GI_GGML_TYPE_Q4_0, 4096,  14336, true },
};

static const uint32_t batch_sizes[] = {512, 128, 32, 16, 4};

#define N_CASE (COUNT(benches) * COUNT(batch_sizes))

static const struct bench *bench_at(size_t index)
{
    return &benches[index % N_CASE / COUNT(batch_sizes)];
}

static bool is_half_at(size_t index)
{
    return index >= N_CASE;
}

static uint32_t batch_size_at(size_t index)
{
    return batch_sizes[index % COUNT(batch_sizes)];
}

static void name_bench(size_t index, char *text, size_t size)
{
    const struct bench *b = bench_at(index);
    snprintf(text, size, "%s %s %u x %u, %u tokens%s", b->model, gi_ggml_type_find(b->type)->name,
             b->n_rows, b->n_cols, batch_size_at(index), is_half_at(index) ? " in f16" : "");
}

static bool run_bench(struct kt_run *run, size_t index)
{
    const struct bench *b = bench_at(index);
    const struct kt_weight_params params = {
        .type = b->type, .n_rows = b->n_rows, .n_cols = b->n_cols, .is_blank = true};
    uint32_t n_tokens = batch_size_at(index);
    run->recorder.is_half = is_half_at(index);
    if (is_half_at(index) && !gi_program_available(run->gpu, GI_PROGRAM_GEMM_HALF)) {
        return true;
    }
    struct kt_weight weight;
    struct glinfer_error err;
    const size_t x_size = is_half_at(index) ? (size_t)gi_half_rows_size(n_tokens, b->n_cols)
                                            : (size_t)n_tokens * b->n_cols * sizeof(float);
    struct gi_rows x = {kt_range(run, "x", NULL, x_size), b->n_cols, is_half_at(index)};
    struct gi_rows y = {kt_range(run, "y", NULL, (size_t)n_tokens * b->n_rows * sizeof(float)),
                        b->n_rows, false};
    return !run->has_failed && kt_weight_init(&weight, run, &params) &&
           (gi_op_gemm(&run->recorder, b->model, &weight.weight, &x, b->is_added, 1, &y, &err) ||
            kt_fail(run, "%s", err.message)) &&
           kt_seal(run) && kt_replay(run, 0, n_tokens) &&
           kt_bench(run, 0, n_tokens, kt_weight_bytes(&weight.weight));
}

const struct kt_suite kt_gemm_bench = {
    .kernel = "bench_gemm",
    .n_case = 2 * N_CASE,
    .name = name_bench,
    .run = run_bench,
};
