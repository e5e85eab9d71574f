// Products of a batch of a prompt with weights, in every form that devices have.
#include "tests/kernel/fixture/kernel_rows.h"
#include "tests/ref/ref_batch.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gemm_case {
    uint32_t type, n_tokens, n_rows, n_cols, max_part_rows;
    bool has_bias, is_added;
};

static const struct gemm_case gemm_cases[] = {
    {GI_GGML_TYPE_F32, 1, 16, 32, 0, false, false},
    {GI_GGML_TYPE_F16, 2, 32, 96, 16, true, false},
    {GI_GGML_TYPE_Q4_0, 7, 80, 64, 48, false, true},
    {GI_GGML_TYPE_Q4_1, 31, 96, 576, 0, true, true},
    {GI_GGML_TYPE_Q8_0, 32, 144, 1536, 64, false, false},
    {GI_GGML_TYPE_F32, 33, 176, 2048, 0, true, true},
    {GI_GGML_TYPE_F16, 65, 576, 96, 0, false, true},
    {GI_GGML_TYPE_Q4_0, 128, 960, 576, 0, false, false},
    {GI_GGML_TYPE_Q4_1, 128, 576, 576, 0, false, true},
    {GI_GGML_TYPE_Q4_1, 512, 960, 576, 0, false, false},
    {GI_GGML_TYPE_Q4_1, 512, 3072, 576, 0, false, false},
    {GI_GGML_TYPE_Q4_1, 512, 576, 1536, 0, false, true},
    {GI_GGML_TYPE_Q8_0, 32, 3072, 576, 512, false, false},
    {GI_GGML_TYPE_Q4_1, 16, 3072, 576, 0, false, false},
    {GI_GGML_TYPE_Q5_0, 5, 48, 768, 32, false, false},
    {GI_GGML_TYPE_Q4_K, 5, 48, 768, 32, false, false},
    {GI_GGML_TYPE_Q6_K, 5, 48, 768, 32, false, false},
    {GI_GGML_TYPE_IQ3_S, 5, 48, 768, 32, false, true},
};

static const struct batch_shape {
    const char *name, *batch, *gemm; // of GLINFER_BATCH, of GLINFER_GEMM
} batch_shapes[] = {
    {"split", "split", "narrow"}, {"square", "split", "64x64:2"}, {"thin", "split", "thin"},
    {"short", "split", "short"},  {"low", "split", "low"},        {"rolled", "split", "rolled"},
    {"wide", "split", "32x64:2"}, {"lane", "lane", "narrow"},     {"row", "row", "narrow"},
};

static void print_gemm(const struct gemm_case *c, const struct batch_shape *shape, char *text,
                       size_t size)
{
    snprintf(text, size, "%s %s %u tokens %ux%u in parts of %u%s%s",
             gi_ggml_type_find(c->type)->name, shape->name, c->n_tokens, c->n_rows, c->n_cols,
             c->max_part_rows, c->has_bias ? " bias" : "", c->is_added ? " added" : "");
}

static void gemm_name(size_t index, char *text, size_t size)
{
    print_gemm(&gemm_cases[index / COUNT(batch_shapes)], &batch_shapes[index % COUNT(batch_shapes)],
               text, size);
}

// x without its padding.
static float *dense_rows(const float *values, uint32_t n_tokens, uint32_t stride, uint32_t width)
{
    float *dense = kt_alloc((size_t)n_tokens * width, sizeof(float));
    for (size_t m = 0; m < n_tokens; m++) {
        memcpy(dense + m * width, values + m * stride, width * sizeof(float));
    }
    return dense;
}

static bool check_gemm(struct kt_run *run, const struct gemm_case *c,
                       const struct kt_weight *weight, const float *x, uint32_t x_stride,
                       const float *before, double scale, const struct gi_rows *y)
{
    uint32_t n_rows = weight->weight.n_rows;
    size_t n = (size_t)c->n_tokens * n_rows;
    double *want = kt_alloc(n, sizeof(double)), *bound = kt_alloc(n, sizeof(double));
    float *dense = dense_rows(x, c->n_tokens, x_stride, c->n_cols);
    ref_gemm(&(struct ref_gemm){dense, weight->dense, weight->bias, c->n_tokens, n_rows, c->n_cols},
             want, bound);
    // One running sum of n_cols products: random rounding errors grow with its root.
    double slack = (4 + sqrt((double)c->n_cols)) * (double)FLT_EPSILON;
    for (size_t i = 0; i < n; i++) {
        double old = (double)before[i / n_rows * y->stride + i % n_rows];
        want[i] = c->is_added ? old + scale * want[i] : want[i];
        bound[i] = slack * (c->is_added ? fabs(old) + fabs(scale) * bound[i] : bound[i]);
    }
    bool is_good = kt_compare_rows(run, "y", y, c->n_tokens, 0, n_rows, want, bound);
    free(dense);
    free(want);
    free(bound);
    return is_good;
}

static bool run_gemm_case(struct kt_run *run, const struct gemm_case *c,
                          const struct batch_shape *shape)
{
    const float scale = 0.75f;
    struct kt_weight weight;
    uint32_t x_stride = kt_pad32(c->n_cols) + 32, y_stride = kt_pad32(c->n_rows) + 32;
    float *x = kt_alloc((size_t)c->n_tokens * x_stride, sizeof(float));
    float *before = kt_alloc((size_t)c->n_tokens * y_stride, sizeof(float));
    struct gi_rows x_rows = kt_rows(run, "x", x, c->n_tokens, x_stride);
    struct gi_rows y = kt_rows(run, "y", before, c->n_tokens, y_stride);
    kt_set(run, "GLINFER_BATCH", shape->batch);
    kt_set(run, "GLINFER_GEMM", shape->gemm);
    bool is_good = kt_weight_init(&weight, run,
                                  &(struct kt_weight_params){.type = c->type,
                                                             .n_rows = c->n_rows,
                                                             .n_cols = c->n_cols,
                                                             .max_part_rows = c->max_part_rows,
                                                             .has_bias = c->has_bias});
    if (is_good) {
        gi_op_gemm(&run->recorder, "gemm", &weight.weight, &x_rows, c->is_added, scale, &y);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 9, c->n_tokens) &&
              check_gemm(run, c, &weight, x, x_stride, before, (double)scale, &y) &&
              kt_bench(run, 9, c->n_tokens, kt_weight_bytes(&weight.weight));
    kt_weight_finish(&weight);
    free(x);
    free(before);
    return is_good;
}

static bool run_gemm(struct kt_run *run, size_t index)
{
    const struct gemm_case *c = &gemm_cases[index / COUNT(batch_shapes)];
    const size_t shape = index % COUNT(batch_shapes);
    const bool is_large = (uint64_t)c->n_tokens * c->n_rows * c->n_cols > 1u << 27;
    return (is_large && shape > 0 && kt_leave_out(run)) ||
           run_gemm_case(run, c, &batch_shapes[shape]);
}

const struct kt_suite kt_gemm = {"gemm", COUNT(gemm_cases) * COUNT(batch_shapes), gemm_name,
                                 run_gemm};

// The other weight types: in a form of each way of reading, with more tokens than a tile, and than
// gemv_batch has them with.
static const struct batch_shape quant_shapes[] = {
    {"rolled", "split", "rolled"},
    {"wide", "split", "32x64:2"},
    {"lane", "lane", "narrow"},
};

static struct gemm_case quant_case(size_t index)
{
    return (struct gemm_case){.type = kt_other_type(index / COUNT(quant_shapes)),
                              .n_tokens = 33,
                              .n_rows = 48,
                              .n_cols = 768,
                              .max_part_rows = 32,
                              .has_bias = index % 2 == 0,
                              .is_added = index % 4 < 2};
}

static void gemm_quant_name(size_t index, char *text, size_t size)
{
    const struct gemm_case c = quant_case(index);
    print_gemm(&c, &quant_shapes[index % COUNT(quant_shapes)], text, size);
}

static bool run_gemm_quant(struct kt_run *run, size_t index)
{
    const struct gemm_case c = quant_case(index);
    return run_gemm_case(run, &c, &quant_shapes[index % COUNT(quant_shapes)]);
}

const struct kt_suite kt_gemm_quant = {"gemm_quant", KT_OTHER_TYPES *COUNT(quant_shapes),
                                       gemm_quant_name, run_gemm_quant};
