// Products of batches of few tokens, which read a weight once for all of them.
#include "ops/gemm/batch.h"
#include "tests/kernel/fixture/kernel_test.h"
#include "tests/ref/ref_batch.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct batch_case {
    uint32_t type, n_tokens, n_rows, n_cols, max_part_rows;
    bool has_bias, is_added;
};

#define TYPE_CASE(name, text, folder, number, ...)                                                 \
    {number, 1 + (number) % 16, 48, 768, 32, (number) % 2 == 0, (number) / 2 % 2 == 0},
static const struct batch_case batch_cases[] = {
    {GI_GGML_TYPE_F32, 1, 16, 32, 0, false, false},
    {GI_GGML_TYPE_F16, 2, 32, 96, 16, true, false},
    {GI_GGML_TYPE_Q4_0, 3, 80, 64, 48, false, true},
    {GI_GGML_TYPE_Q4_1, 15, 96, 576, 0, true, true},
    {GI_GGML_TYPE_Q8_0, 16, 144, 1536, 64, false, false},
    {GI_GGML_TYPE_Q4_0, 1, 16, 32, 0, true, true},
    {GI_GGML_TYPE_Q4_0, 2, 4112, 256, 0, false, false},
    {GI_GGML_TYPE_Q4_0, 3, 1040, 1056, 0, true, true},
    {GI_GGML_TYPE_Q8_0, 15, 576, 1536, 208, false, true},
    {GI_GGML_TYPE_Q6_K, 16, 2064, 256, 0, false, false},
    GI_WEIGHT_TYPE_MAP(TYPE_CASE)};

static const struct batch_shape {
    const char *name, *batch, *gemm; // of GLINFER_BATCH, of GLINFER_GEMM
} batch_shapes[] = {
    {"class", "split", "few"},
    {"quads", "split", "few:64:4:2:8"},
    {"lane", "lane", "few"},
};

static const struct batch_case *case_at(size_t index)
{
    return &batch_cases[index / COUNT(batch_shapes)];
}

static void name_case(size_t index, char *text, size_t size)
{
    const struct batch_case *c = case_at(index);
    snprintf(text, size, "%s %s %u tokens %ux%u in parts of %u%s%s",
             gi_ggml_type_find(c->type)->name, batch_shapes[index % COUNT(batch_shapes)].name,
             c->n_tokens, c->n_rows, c->n_cols, c->max_part_rows, c->has_bias ? " bias" : "",
             c->is_added ? " added" : "");
}

static struct gi_rows make_rows(struct kt_run *run, const char *label, float **values,
                                uint32_t n_tokens, uint32_t width)
{
    uint32_t stride = (width + 31) / 32 * 32 + 32;
    size_t n = (size_t)n_tokens * stride;
    *values = kt_alloc(n, sizeof(float));
    kt_fill(run, *values, n, -1, 1);
    return (struct gi_rows){.range = kt_range(run, label, *values, n * sizeof(float)),
                            .stride = stride};
}

// Token m of y against what the reference makes of row m of x.
static bool check_token(struct kt_run *run, const struct batch_case *c,
                        const struct kt_weight *weight, const float *x, const float *before,
                        double scale, const struct gi_range *y, size_t offset)
{
    uint32_t n = weight->weight.n_rows;
    double *want = kt_alloc(n, sizeof(double)), *bound = kt_alloc(n, sizeof(double));
    ref_gemm(&(struct ref_gemm){x, weight->dense, weight->bias, 1, n, c->n_cols}, want, bound);
    // Random rounding errors of a sum of n_cols products grow with the root of their number.
    double slack = (4 + sqrt((double)c->n_cols)) * (double)FLT_EPSILON;
    for (uint32_t i = 0; i < n; i++) {
        double old = (double)before[i];
        want[i] = c->is_added ? old + scale * want[i] : want[i];
        bound[i] = slack * (c->is_added ? fabs(old) + fabs(scale) * bound[i] : bound[i]);
    }
    bool is_good = kt_compare_f32(run, "y", y, offset, want, bound, n);
    free(want);
    free(bound);
    return is_good;
}

static bool run_case(struct kt_run *run, size_t index)
{
    const struct batch_case *c = case_at(index);
    const float scale = 0.75f;
    struct kt_weight weight;
    float *x, *before;
    struct gi_rows x_rows = make_rows(run, "x", &x, c->n_tokens, c->n_cols);
    struct gi_rows y_rows = make_rows(run, "y", &before, c->n_tokens, c->n_rows);
    const struct kt_weight_params params = {.type = c->type,
                                            .n_rows = c->n_rows,
                                            .n_cols = c->n_cols,
                                            .max_part_rows = c->max_part_rows,
                                            .has_bias = c->has_bias};
    const struct batch_shape *shape = &batch_shapes[index % COUNT(batch_shapes)];
    kt_set(run, "GLINFER_BATCH", shape->batch);
    kt_set(run, "GLINFER_GEMM", shape->gemm);
    bool is_good = kt_weight_init(&weight, run, &params);
    if (is_good) {
        gi_op_gemm(&run->recorder, "gemv_batch", &weight.weight, &x_rows, c->is_added, scale,
                   &y_rows);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 9, c->n_tokens);
    for (size_t m = 0; is_good && m < c->n_tokens; m++) {
        size_t at = m * y_rows.stride;
        is_good = check_token(run, c, &weight, x + m * x_rows.stride, before + at, (double)scale,
                              &y_rows.range, at * sizeof(float));
    }
    is_good = is_good && kt_bench(run, 9, c->n_tokens, kt_weight_bytes(&weight.weight));
    kt_weight_finish(&weight);
    free(x);
    free(before);
    return is_good;
}

const struct kt_suite kt_gemv_batch = {"gemv_batch", COUNT(batch_cases) * COUNT(batch_shapes),
                                       name_case, run_case};
