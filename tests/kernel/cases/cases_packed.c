// Rows packed as f16 in their own place (ops/gemm/pack_rows.h), and products that read them.
#include "base/round.h"
#include "ops/gemm/batch.h"
#include "ops/gemm/pack_rows.h"
#include "tests/kernel/fixture/kernel_rows.h"
#include "tests/ref/ref_batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct packed_case {
    const char *gemm; // of GLINFER_GEMM
    uint32_t type, n_tokens, n_rows, n_cols, max_part_rows;
    bool has_bias, is_added;
    float x_size; // of the largest element
} cases[] = {
    {"narrow", GI_GGML_TYPE_Q4_0, 17, 16, 32, 0, false, false, 1},
    {"narrow", GI_GGML_TYPE_Q4_0, 130, 144, 1536, 64, false, false, 3e6f},
    {"narrow", GI_GGML_TYPE_Q4_0, 33, 80, 96, 48, true, true, 1e-30f},
    {"narrow", GI_GGML_TYPE_Q4_1, 65, 96, 576, 0, true, true, 1},
    {"narrow", GI_GGML_TYPE_Q4_K, 40, 48, 768, 0, false, true, 1e30f},
    {"rolled", GI_GGML_TYPE_Q4_0, 17, 32, 32, 16, true, false, 1},
    {"rolled", GI_GGML_TYPE_Q4_1, 130, 144, 1536, 64, false, false, 3e6f},
    {"rolled", GI_GGML_TYPE_Q4_0, 33, 80, 96, 48, true, true, 1e-30f},
    {"rolled", GI_GGML_TYPE_Q4_1, 65, 96, 576, 0, true, true, 1},
    {"rolled", GI_GGML_TYPE_Q4_K, 40, 48, 768, 0, false, true, 1e30f},
};

static void packed_name(size_t index, char *text, size_t size)
{
    const struct packed_case *c = &cases[index];
    snprintf(text, size, "%s %s %u tokens %ux%u in splits of %u%s%s, x up to %g", c->gemm,
             gi_ggml_type_find(c->type)->name, c->n_tokens, c->n_rows, c->n_cols, c->max_part_rows,
             c->has_bias ? " bias" : "", c->is_added ? " added" : "", (double)c->x_size);
}

// A rounding of x and one of the weight: the tiles hold those in f16, too.
static bool check_products(struct kt_run *run, const struct packed_case *c,
                           const struct kt_weight *weight, const float *x, const float *before,
                           double scale, const struct gi_rows *y)
{
    const size_t n = (size_t)c->n_tokens * c->n_rows;
    double *want = kt_alloc(n, sizeof(double)), *bound = kt_alloc(n, sizeof(double));
    ref_gemm(&(struct ref_gemm){x, weight->dense, weight->bias, c->n_tokens, c->n_rows, c->n_cols},
             want, bound);
    for (size_t i = 0; i < n; i++) {
        const double old = (double)before[i / c->n_rows * y->stride + i % c->n_rows];
        want[i] = c->is_added ? old + scale * want[i] : want[i];
        bound[i] = 0x1p-10 * (c->is_added ? fabs(old) + scale * bound[i] : bound[i]);
    }
    const bool is_good = kt_compare_rows(run, "y", y, c->n_tokens, 0, c->n_rows, want, bound);
    free(want);
    free(bound);
    return is_good;
}

static bool record(struct kt_run *run, const struct packed_case *c, const struct gi_weight *weight,
                   struct gi_rows *x, float scale, const struct gi_rows *y)
{
    kt_set(run, "GLINFER_BATCH", "lane");
    kt_set(run, "GLINFER_GEMM", c->gemm);
    run->recorder.packs_rows = true;
    gi_op_pack_rows(&run->recorder, "pack_rows", x, c->n_cols, weight);
    gi_op_gemm(&run->recorder, "gemm", weight, x, c->is_added, scale, y);
    kt_set(run, "GLINFER_BATCH", NULL);
    kt_set(run, "GLINFER_GEMM", NULL);
    return x->is_half || kt_fail(run, "rows are not packed");
}

static bool run_packed(struct kt_run *run, size_t index)
{
    const struct packed_case *c = &cases[index];
    const float scale = 0.75f;
    const uint32_t y_stride = kt_pad32(c->n_rows) + 32;
    const size_t n_x = (size_t)c->n_tokens * c->n_cols;
    struct kt_weight weight;
    float *x = kt_alloc(n_x, sizeof(float));
    float *before = kt_alloc((size_t)c->n_tokens * y_stride, sizeof(float));
    kt_fill(run, x, n_x, -c->x_size, c->x_size);
    struct gi_rows x_rows = {kt_range(run, "x", x, n_x * sizeof(float)), c->n_cols, false};
    const struct gi_rows y = kt_rows(run, "y", before, c->n_tokens, y_stride);
    const bool is_good =
        kt_weight_init(&weight, run,
                       &(struct kt_weight_params){.type = c->type,
                                                  .n_rows = c->n_rows,
                                                  .n_cols = c->n_cols,
                                                  .max_part_rows = c->max_part_rows,
                                                  .has_bias = c->has_bias}) &&
        record(run, c, &weight.weight, &x_rows, scale, &y) && kt_seal(run) &&
        kt_replay(run, 9, c->n_tokens) &&
        check_products(run, c, &weight, x, before, (double)scale, &y);
    kt_weight_finish(&weight);
    free(x);
    free(before);
    return is_good;
}

const struct kt_suite kt_packed = {"packed", COUNT(cases), packed_name, run_packed};
