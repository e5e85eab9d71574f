#include "tests/kernel/cases/cases_gemv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

//-- gemv_plain ------------------------------------------------------------------------------------

struct plain_size {
    uint32_t n_cols, n_rows, part_rows, n_ssq;
    bool has_bias, has_norm;
};

static const struct plain_size plain_sizes[] = {
    {32, 16, 0, 1, false, true},     {96, 64, 32, 0, true, false},   {64, 48, 0, 3, true, true},
    {1536, 80, 48, 0, false, false}, {576, 960, 0, 36, false, true},
};

static void name_plain(size_t index, char *text, size_t size)
{
    struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    const struct plain_size *s = &plain_sizes[variant.size];
    int n = kt_gemv_print(&variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u x %u%s%s%s", s->n_rows, s->n_cols,
             s->part_rows ? " parts" : "", s->has_bias ? " bias" : "", s->has_norm ? " norm" : "");
}

static bool run_plain(struct kt_run *run, size_t index)
{
    struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    const struct plain_size *size = &plain_sizes[variant.size];
    struct kt_gemv_stream stream;
    struct kt_weight weight;
    struct gi_range x_range;
    const struct kt_weight_params params = {.type = variant.type,
                                            .n_rows = size->n_rows,
                                            .n_cols = size->n_cols,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias};
    float *x = kt_gemv_x(run, size->n_cols, &x_range);
    struct gi_range range = kt_range(run, "y", NULL, size->n_rows * sizeof(float));
    bool is_good =
        kt_gemv_stream_init(&stream, run, size->n_cols, 0, size->n_ssq ? size->n_ssq : 1) &
        kt_weight_init(&weight, run, &params);
    struct ref_value *y = kt_alloc(size->n_rows, sizeof(*y));
    ref_gemv(y, weight.dense, size->has_norm ? stream.values + stream.stream.norm : x, weight.bias,
             size->n_rows, size->n_cols, size->has_norm ? stream.inv_rms : 1);
    is_good = is_good && kt_gemv_set_shape(run, &variant);
    if (is_good) {
        if (size->has_norm) {
            gi_op_gemv_norm(&run->recorder, "y", &weight.weight, &stream.stream, range);
        } else {
            gi_op_gemv(&run->recorder, "y", &weight.weight, x_range, 0, false, range);
        }
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 0, 1) &&
              kt_gemv_compare(run, "y", &range, 0, y, size->n_rows) &&
              kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(x);
    free(y);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

const struct kt_suite kt_gemv_plain = {
    .kernel = "gemv_plain",
    .n_case = COUNT(plain_sizes) * KT_GEMV_TYPES * KT_GEMV_SHAPES,
    .name = name_plain,
    .run = run_plain,
};

//-- gemv is linear --------------------------------------------------------------------------------

// Into streams of zeros go W x for x = a, b, a + b and 2 a; a and b are short binary fractions, so
// that a + b is exact.
enum { LINEAR_A, LINEAR_B, LINEAR_SUM, LINEAR_TWICE, N_LINEAR };
#define LINEAR_EMBD 48u
#define LINEAR_COLS 96u

static void name_linear(size_t index, char *text, size_t size)
{
    struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    kt_gemv_print(&variant, text, size);
}

static void fill_linear(struct kt_run *run, float x[N_LINEAR][LINEAR_COLS])
{
    for (size_t i = 0; i < LINEAR_COLS; i++) {
        x[LINEAR_A][i] = (float)kt_index(run, 2049) * 0x1p-10f - 1;
        x[LINEAR_B][i] = (float)kt_index(run, 2049) * 0x1p-10f - 1;
        x[LINEAR_SUM][i] = x[LINEAR_A][i] + x[LINEAR_B][i];
        x[LINEAR_TWICE][i] = 2 * x[LINEAR_A][i];
    }
}

static bool compare_linear(struct kt_run *run, const struct gi_stream *streams,
                           const struct ref_value *magnitudes)
{
    float y[N_LINEAR][LINEAR_EMBD];
    for (size_t i = 0; i < N_LINEAR; i++) {
        if (!kt_read(run, &streams[i].range, streams[i].residual * sizeof(float), y[i],
                     sizeof(y[i]))) {
            return false;
        }
    }
    for (size_t i = 0; i < LINEAR_EMBD; i++) {
        double sum = (double)y[LINEAR_A][i] + (double)y[LINEAR_B][i];
        double bound = 3 * kt_gemv_roundings() * (double)FLT_EPSILON * magnitudes[i].magnitude;
        if (!(fabs((double)y[LINEAR_SUM][i] - sum) <= bound)) {
            return kt_fail(run, "W (a + b) [%zu] is %.9g, W a + W b %.9g", i,
                           (double)y[LINEAR_SUM][i], sum);
        }
        if (y[LINEAR_TWICE][i] != 2 * y[LINEAR_A][i]) {
            return kt_fail(run, "W (2 a) [%zu] is %.9g, 2 W a %.9g", i, (double)y[LINEAR_TWICE][i],
                           2 * (double)y[LINEAR_A][i]);
        }
    }
    return true;
}

static bool record_linear(struct kt_run *run, const struct gi_weight *weight,
                          float x[N_LINEAR][LINEAR_COLS], struct gi_stream streams[N_LINEAR])
{
    for (size_t i = 0; i < N_LINEAR; i++) {
        size_t size = (size_t)gi_stream_layout(&streams[i], LINEAR_EMBD, 0, KT_GEMV_NORM_EPS);
        float *zeros = kt_alloc(size, 1);
        streams[i].range = kt_range(run, "stream", zeros, size);
        free(zeros);
        struct gi_range range = kt_range(run, "x", x[i], sizeof(x[i]));
        if (run->has_failed) {
            return false;
        }
        gi_op_gemv_residual(&run->recorder, "linear", weight, range, 0, false, 1, &streams[i]);
    }
    return true;
}

static bool run_linear(struct kt_run *run, size_t index)
{
    struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    struct gi_stream streams[N_LINEAR];
    float x[N_LINEAR][LINEAR_COLS];
    struct kt_weight weight;
    struct ref_value magnitudes[LINEAR_EMBD];
    const struct kt_weight_params params = {
        .type = variant.type, .n_rows = LINEAR_EMBD, .n_cols = LINEAR_COLS};
    fill_linear(run, x);
    bool is_good = kt_weight_init(&weight, run, &params);
    ref_gemv(magnitudes, weight.dense, x[LINEAR_SUM], weight.bias, LINEAR_EMBD, LINEAR_COLS, 1);
    is_good = is_good && kt_gemv_set_shape(run, &variant) &&
              record_linear(run, &weight.weight, x, streams) && kt_seal(run) &&
              kt_replay(run, 0, 1) && compare_linear(run, streams, magnitudes);
    kt_weight_finish(&weight);
    return is_good;
}

const struct kt_suite kt_gemv_linear = {
    .kernel = "gemv_linear",
    .n_case = KT_GEMV_TYPES * KT_GEMV_SHAPES,
    .name = name_linear,
    .run = run_linear,
};
