// Prompt batches with their products in f16, where the device has fast halves or GLINFER_HALF=yes
// says so.
#include "ops/gemm/batch.h"
#include "ops/gemm/half_rows.h"
#include "tests/kernel/fixture/kernel_test.h"
#include "tests/ref/ref_batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALF_EPSILON 0x1p-10

static const struct gemm_case {
    const char *tile; // of GLINFER_GEMM
    uint32_t type, n_tokens, n_rows, n_cols, max_part_rows;
    bool has_bias, is_added;
    float x_size; // of the largest element
} gemm_cases[] = {
    {"64x64", GI_GGML_TYPE_F32, 1, 16, 32, 0, false, false, 1},
    {"64x64", GI_GGML_TYPE_F16, 2, 32, 96, 16, true, false, 1},
    {"64x64", GI_GGML_TYPE_Q4_0, 7, 80, 64, 48, false, true, 1},
    {"64x64", GI_GGML_TYPE_Q4_0, 130, 144, 320, 0, false, true, 1},
    {"64x64", GI_GGML_TYPE_Q6_K, 5, 48, 768, 32, false, false, 1},
    {"64x64", GI_GGML_TYPE_IQ3_S, 5, 48, 256, 32, false, false, 1},
    {"128x64", GI_GGML_TYPE_Q4_0, 130, 144, 320, 80, true, true, 1},
    {"128x64", GI_GGML_TYPE_Q4_K, 7, 48, 768, 0, false, false, 1},
    {"64x64:2", GI_GGML_TYPE_Q4_1, 65, 96, 576, 0, true, true, 1},
    {"64x64:2", GI_GGML_TYPE_Q4_0, 65, 96, 832, 0, false, true, 1},
    {"64x64:2", GI_GGML_TYPE_Q4_K, 40, 96, 768, 0, false, true, 1},
    {"64x64", GI_GGML_TYPE_Q4_0, 33, 80, 320, 0, false, false, 1e-4f},
    {"64x64:2", GI_GGML_TYPE_Q4_K, 65, 48, 768, 0, false, false, 1e-4f},
    {"64x64:2", GI_GGML_TYPE_Q8_0, 33, 80, 288, 0, false, false, 3e6f},
    {"small", GI_GGML_TYPE_Q4_0, 8, 48, 96, 0, false, false, 1},
    {"small", GI_GGML_TYPE_Q4_0, 5, 144, 320, 80, true, true, 1},
    {"small", GI_GGML_TYPE_Q4_0, 16, 4112, 2112, 0, false, true, 1},
    {"small", GI_GGML_TYPE_Q6_K, 15, 48, 768, 32, false, true, 1},
    {"small", GI_GGML_TYPE_Q8_0, 32, 80, 2080, 0, true, false, 3e6f},
    {"small", GI_GGML_TYPE_IQ3_S, 16, 48, 256, 32, false, false, 1e-4f},
    {"64x64:2", GI_GGML_TYPE_Q4_1, 7, 48, 96, 0, false, false, 3e6f},
};

static void gemm_name(size_t index, char *text, size_t size)
{
    const struct gemm_case *c = &gemm_cases[index];
    snprintf(text, size, "%s %s %u tokens %ux%u in parts of %u%s%s, x up to %g", c->tile,
             gi_ggml_type_find(c->type)->name, c->n_tokens, c->n_rows, c->n_cols, c->max_part_rows,
             c->has_bias ? " bias" : "", c->is_added ? " added" : "", (double)c->x_size);
}

static bool check_gemm(struct kt_run *run, const struct gemm_case *c,
                       const struct kt_weight *weight, const float *x, const struct gi_rows *y,
                       const float *before, double scale)
{
    const uint32_t n_rows = weight->weight.n_rows;
    const size_t n = (size_t)c->n_tokens * n_rows;
    double *want = kt_alloc(n, sizeof(double)), *bound = kt_alloc(n, sizeof(double));
    ref_gemm(&(struct ref_gemm){x, weight->dense, weight->bias, c->n_tokens, n_rows, c->n_cols},
             want, bound);
    // A rounding of x, one of the weight, and those of sums of 32 products, which grow with their
    // root.
    for (size_t i = 0; i < n; i++) {
        const double old = (double)before[i];
        want[i] = c->is_added ? old + scale * want[i] : want[i];
        bound[i] = 2 * HALF_EPSILON * (c->is_added ? fabs(old) + scale * bound[i] : bound[i]);
    }
    bool is_good = kt_compare_f32(run, "y", &y->range, 0, want, bound, n);
    free(want);
    free(bound);
    return is_good;
}

static void record_gemm(struct kt_run *run, const struct gemm_case *c,
                        const struct gi_weight *weight, const struct gi_rows *x, float scale,
                        const struct gi_rows *y)
{
    const bool is_small = strcmp(c->tile, "small") == 0;
    kt_set(run, "GLINFER_BATCH", "split");
    kt_set(run, "GLINFER_GEMM", is_small ? NULL : c->tile);
    run->recorder.is_half = true;
    // Rows of few tokens have the room that they would have in f32.
    const uint64_t size = is_small ? (uint64_t)c->n_tokens * c->n_cols * sizeof(float)
                                   : gi_half_rows_size(c->n_tokens, c->n_cols);
    const struct gi_rows halves = {kt_range(run, "halves", NULL, (size_t)size), c->n_cols, true};
    gi_op_half_rows(&run->recorder, "half_rows", x, c->n_cols, &halves);
    gi_op_gemm(&run->recorder, "gemm", weight, &halves, c->is_added, scale, y);
    kt_set(run, "GLINFER_BATCH", NULL);
    kt_set(run, "GLINFER_GEMM", NULL);
}

static bool run_gemm(struct kt_run *run, size_t index)
{
    const struct gemm_case *c = &gemm_cases[index];
    const float scale = 0.75f;
    struct kt_weight weight;
    const struct kt_weight_params params = {.type = c->type,
                                            .n_rows = c->n_rows,
                                            .n_cols = c->n_cols,
                                            .max_part_rows = c->max_part_rows,
                                            .has_bias = c->has_bias};
    const bool is_small = strcmp(c->tile, "small") == 0;
    if (!gi_program_available(run->gpu, GI_PROGRAM_GEMM_HALF) ||
        (is_small && !gi_program_available(run->gpu, GI_PROGRAM_GEMV_BATCH_HALF))) {
        return true;
    }
    const size_t n_x = (size_t)c->n_tokens * c->n_cols;
    float *x = kt_alloc(n_x, sizeof(float));
    kt_fill(run, x, n_x, -c->x_size, c->x_size);
    const struct gi_rows x_rows = {kt_range(run, "x", x, n_x * sizeof(float)), c->n_cols, false};
    bool is_good = kt_weight_init(&weight, run, &params);
    const size_t n_y = (size_t)c->n_tokens * weight.weight.n_rows;
    float *before = kt_alloc(n_y, sizeof(float));
    kt_fill(run, before, n_y, -1, 1);
    const struct gi_rows y = {kt_range(run, "y", before, n_y * sizeof(float)), weight.weight.n_rows,
                              false};
    if (is_good) {
        record_gemm(run, c, &weight.weight, &x_rows, scale, &y);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 9, c->n_tokens) &&
              check_gemm(run, c, &weight, x, &y, before, (double)scale) &&
              kt_bench(run, 9, c->n_tokens, kt_weight_bytes(&weight.weight));
    kt_weight_finish(&weight);
    free(x);
    free(before);
    return is_good;
}

const struct kt_suite kt_gemm_half = {"gemm_half", COUNT(gemm_cases), gemm_name, run_gemm};
