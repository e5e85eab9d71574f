// Operations on single rows of a batch, or on that of a step: the last row of a prompt, norms.
#include "ops/gemv/gemv.h"
#include "tests/kernel/fixture/kernel_rows.h"
#include "tests/ref/ref_batch.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t row_widths[] = {32, 96, 576, 1536, 2048};
static const uint32_t row_counts[] = {1, 2, 7, 31, 32, 33, 128, 512};

static void row_name(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u tokens of %u", row_counts[index % COUNT(row_counts)],
             row_widths[index / COUNT(row_counts)]);
}

//-- last_row --------------------------------------------------------------------------------------

static bool run_last_row(struct kt_run *run, size_t index)
{
    uint32_t n = row_counts[index % COUNT(row_counts)];
    uint32_t width = row_widths[index / COUNT(row_counts)], stride = width + 64;
    struct gi_stream stream = {0};
    float *x = kt_alloc((size_t)n * stride, sizeof(float));
    float *gamma = kt_alloc(width, sizeof(float));
    double *want = kt_alloc(2 * (size_t)width, sizeof(double));
    struct gi_rows rows = kt_rows(run, "x", x, n, stride);
    kt_fill(run, gamma, width, 0.5f, 2);
    struct gi_vectors vectors = kt_vectors(run, gamma, width, 0);
    uint64_t size = gi_stream_layout(&stream, width, 2, 0);
    stream.range = kt_range(run, "stream", NULL, (size_t)size);
    gi_op_last_row(&run->recorder, &rows, &vectors, 0, &stream);
    bool is_good = kt_seal(run) && kt_replay(run, 5, n);
    if (is_good) {
        double ssq = ref_embed(x + (size_t)(n - 1) * stride, gamma, width, 1, want, want + width);
        is_good = kt_check_stream(run, &stream, want, want + width, ssq, 4);
    }
    free(x);
    free(gamma);
    free(want);
    return is_good;
}

const struct kt_suite kt_last_row = {"last_row", COUNT(row_widths) * COUNT(row_counts), row_name,
                                     run_last_row};

//-- rmsnorm ---------------------------------------------------------------------------------------

// Rows with a mean of their own; gamma, then beta, which rmsnorm does not take.
struct norm_case {
    uint32_t n_tokens, width, stride;
    float *x, *weights;
    double *want, *bound;
    struct gi_rows rows, y;
    struct gi_vectors vectors;
};

static void norm_init(struct norm_case *c, struct kt_run *run, uint32_t n_tokens, uint32_t width,
                      uint32_t stride)
{
    *c = (struct norm_case){.n_tokens = n_tokens, .width = width, .stride = stride};
    const size_t n = (size_t)n_tokens * width, n_padded = (size_t)n_tokens * stride;
    c->x = kt_alloc(n_padded, sizeof(float));
    c->weights = kt_alloc(2 * (size_t)width, sizeof(float));
    c->want = kt_alloc(n, sizeof(double));
    c->bound = kt_alloc(n, sizeof(double));
    kt_fill(run, c->x, n_padded, -1, 2);
    kt_fill(run, c->weights, 2 * (size_t)width, -2, 2);
    c->rows = (struct gi_rows){kt_range(run, "x", c->x, n_padded * sizeof(float)), stride, false};
    c->vectors = kt_vectors(run, c->weights, 2 * (size_t)width, 0);
    c->y = kt_rows(run, "y", NULL, n_tokens, width);
}

// The index-th of row_counts for each of row_widths.
static void norm_init_rows(struct norm_case *c, struct kt_run *run, size_t index)
{
    const uint32_t width = row_widths[index / COUNT(row_counts)];
    norm_init(c, run, row_counts[index % COUNT(row_counts)], width, width + 32);
}

// A sum of width / 64 terms an invocation, six more levels, the root and two products.
#define NORM_ROUNDINGS 16

static void want_rmsnorm(struct norm_case *c, float eps)
{
    for (size_t m = 0; m < c->n_tokens; m++) {
        ref_rmsnorm(c->x + m * c->stride, c->weights, c->width, (double)eps,
                    c->want + m * c->width);
    }
    for (size_t i = 0; i < (size_t)c->n_tokens * c->width; i++) {
        c->bound[i] = NORM_ROUNDINGS * (double)FLT_EPSILON * fabs(c->want[i]);
    }
}

// Computes the wanted rows of a layernorm and their bounds.
static void want_layernorm(struct norm_case *c, float eps)
{
    for (size_t m = 0; m < c->n_tokens; m++) {
        ref_layernorm(c->x + m * c->stride, c->weights, c->weights + c->width, c->width,
                      (double)eps, c->want + m * c->width, c->bound + m * c->width);
    }
    for (size_t i = 0; i < (size_t)c->n_tokens * c->width; i++) {
        c->bound[i] *= NORM_ROUNDINGS * (double)FLT_EPSILON;
    }
}

// Replays what was recorded and compares all rows.
static bool norm_check(struct norm_case *c, struct kt_run *run)
{
    return kt_seal(run) && kt_replay(run, 3, c->n_tokens) &&
           kt_compare_rows(run, "y", &c->y, c->n_tokens, 0, c->width, c->want, c->bound) &&
           kt_bench(run, 3, c->n_tokens, (uint64_t)c->n_tokens * c->width * 8);
}

static void norm_finish(struct norm_case *c)
{
    free(c->x);
    free(c->weights);
    free(c->want);
    free(c->bound);
}

static bool run_rmsnorm(struct kt_run *run, size_t index)
{
    const float eps = 1e-5f;
    struct norm_case c;
    norm_init_rows(&c, run, index);
    want_rmsnorm(&c, eps);
    gi_op_rmsnorm(&run->recorder, "norm", &c.rows, c.width, &c.vectors, 0, eps, &c.y);
    bool is_good = norm_check(&c, run);
    norm_finish(&c);
    return is_good;
}

const struct kt_suite kt_rmsnorm = {"rmsnorm", COUNT(row_widths) * COUNT(row_counts), row_name,
                                    run_rmsnorm};

// The same added to what y holds. Every other case multiplies the sum, by beta's first number.
static bool run_rmsnorm_add(struct kt_run *run, size_t index)
{
    const bool is_scaled = index % 2 == 1;
    const float eps = 1e-5f;
    struct norm_case c;
    norm_init_rows(&c, run, index);
    want_rmsnorm(&c, eps);
    size_t n = (size_t)c.n_tokens * c.width;
    float *before = kt_alloc(n, sizeof(float));
    kt_fill(run, before, n, -1, 1);
    const double scale = is_scaled ? (double)c.weights[c.width] : 1;
    for (size_t i = 0; i < n; i++) {
        c.want[i] = scale * (c.want[i] + (double)before[i]);
        c.bound[i] = fabs(scale) * c.bound[i] + 2 * (double)FLT_EPSILON * fabs(c.want[i]);
    }
    bool is_good = kt_write(run, &c.y.range, 0, before, n * sizeof(float));
    if (is_good) {
        gi_op_rmsnorm_add(&run->recorder, "norm", &c.rows, c.width, &c.vectors, 0,
                          is_scaled ? c.width : UINT32_MAX, eps, &c.y);
    }
    is_good = is_good && norm_check(&c, run);
    free(before);
    norm_finish(&c);
    return is_good;
}

const struct kt_suite kt_rmsnorm_add = {"rmsnorm_add", COUNT(row_widths) * COUNT(row_counts),
                                        row_name, run_rmsnorm_add};

//-- layernorm -------------------------------------------------------------------------------------

static bool run_layernorm(struct kt_run *run, size_t index)
{
    const float eps = 1e-5f;
    struct norm_case c;
    norm_init_rows(&c, run, index);
    want_layernorm(&c, eps);
    gi_op_layernorm(&run->recorder, "norm", &c.rows, c.width, &c.vectors, 0, c.width, eps, &c.y);
    bool is_good = norm_check(&c, run);
    norm_finish(&c);
    return is_good;
}

const struct kt_suite kt_layernorm = {"layernorm", COUNT(row_widths) * COUNT(row_counts), row_name,
                                      run_layernorm};

static void layernorm_step_name(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u%s", row_widths[index / 2], index % 2 ? " as a stage" : "");
}

// The stream's norm, and a sum of squares that makes the consumers' 1 / rms 1.
static bool run_layernorm_step(struct kt_run *run, size_t index)
{
    const float eps = 1e-5f;
    const uint32_t width = row_widths[index / 2];
    struct gi_stream stream = {0};
    struct norm_case c;
    norm_init(&c, run, 1, width, width);
    want_layernorm(&c, eps);
    size_t size = (size_t)gi_stream_layout(&stream, width, 2, eps);
    float *values = kt_alloc(size, 1), ssq = 0;
    kt_fill(run, values, size / sizeof(float), -1, 1);
    memcpy(values + stream.residual, c.x, width * sizeof(float));
    stream.n_ssq = 3;
    run->recorder.form.group_size = index % 2 ? kt_uniform_size(run) : 0;
    stream.range = kt_range(run, "stream", values, size);
    gi_op_layernorm_step(&run->recorder, "norm", &c.vectors, 0, width, &stream);
    bool is_good = kt_seal(run) && kt_replay(run, 3, 1) &&
                   kt_compare_f32(run, "norm", &stream.range, stream.norm * sizeof(float), c.want,
                                  c.bound, width) &&
                   kt_read(run, &stream.range, stream.ssq * sizeof(float), &ssq, sizeof(ssq));
    if (is_good) {
        const double rms = (double)ssq / width + (double)eps;
        is_good = (stream.n_ssq == 1 && fabs(rms - 1) <= 4 * (double)FLT_EPSILON) ||
                  kt_fail(run, "the mean of squares is %.9g with eps, want 1", rms);
    }
    free(values);
    norm_finish(&c);
    return is_good;
}

const struct kt_suite kt_layernorm_step = {"layernorm_step", 2 * COUNT(row_widths),
                                           layernorm_step_name, run_layernorm_step};

static void post_norm_name(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u%s", row_widths[index / 2], index % 2 ? " before a norm, scaled" : "");
}

// residual += norm(y), and what the stream's next consumer reads of it. The scale of a scaled one
// is gamma's first number.
static bool run_post_norm(struct kt_run *run, size_t index)
{
    const uint32_t n = row_widths[index / 2];
    const bool has_gamma = index % 2 == 1;
    const float eps = 1e-5f;
    struct gi_stream stream = {0};
    float *y = kt_alloc(n, sizeof(float)), *gamma = kt_alloc(2 * (size_t)n, sizeof(float));
    double *want = kt_alloc(2 * (size_t)n, sizeof(double)), ssq = 0;
    size_t size = (size_t)gi_stream_layout(&stream, n, 2, eps);
    float *values = kt_alloc(size, 1);
    kt_fill(run, values, size / sizeof(float), 0.5f, 1); // sums without cancellation
    kt_fill(run, y, n, 0.5f, 3);
    kt_fill(run, gamma, 2 * (size_t)n, 0.5f, 2);
    ref_rmsnorm(y, gamma, n, (double)eps, want);
    const double scale = has_gamma ? (double)gamma[0] : 1;
    for (uint32_t i = 0; i < n; i++) {
        want[i] = scale * (want[i] + (double)values[stream.residual + i]);
        want[n + i] = has_gamma ? want[i] * (double)gamma[n + i] : (double)values[stream.norm + i];
        ssq += want[i] * want[i];
    }
    stream.range = kt_range(run, "stream", values, size);
    struct gi_range y_range = kt_range(run, "y", y, n * sizeof(float));
    struct gi_range norm_range = {stream.range.buffer, stream.range.offset + 4 * stream.norm,
                                  4 * (uint64_t)gi_x_size(n)};
    struct gi_vectors vectors = kt_vectors(run, gamma, 2 * (size_t)n, 0);
    gi_op_post_norm(&run->recorder, "post_norm", y_range, &vectors, 0, has_gamma ? n : UINT32_MAX,
                    has_gamma ? 0 : UINT32_MAX, &stream);
    bool is_good = kt_seal(run) && kt_replay(run, 5, 1) &&
                   kt_check_stream(run, &stream, want, want + n, ssq, 16) &&
                   (!stream.has_sums || kt_check_sums(run, &norm_range, n));
    free(y);
    free(gamma);
    free(want);
    free(values);
    return is_good;
}

const struct kt_suite kt_post_norm = {"post_norm", 2 * COUNT(row_widths), post_norm_name,
                                      run_post_norm};

// Without eps, 4096 x gives what x gives, bit by bit: the factor is a power of 4.
static bool run_rmsnorm_scale(struct kt_run *run, size_t index)
{
    struct norm_case c;
    norm_init_rows(&c, run, index);
    want_rmsnorm(&c, 0);
    size_t n = (size_t)c.n_tokens * c.stride;
    for (size_t i = 0; i < n; i++) {
        c.x[i] *= 4096;
    }
    gi_op_rmsnorm(&run->recorder, "norm", &c.rows, c.width, &c.vectors, 0, 0, &c.y);
    bool is_good = kt_seal(run) && kt_replay(run, 0, c.n_tokens) &&
                   kt_compare_rows(run, "y", &c.y, c.n_tokens, 0, c.width, c.want, c.bound) &&
                   kt_write(run, &c.rows.range, 0, c.x, n * sizeof(float)) &&
                   kt_replay(run, 0, c.n_tokens) &&
                   kt_compare_rows(run, "scaled y", &c.y, c.n_tokens, 0, c.width, c.want, c.bound);
    norm_finish(&c);
    return is_good;
}

const struct kt_suite kt_rmsnorm_scale = {"rmsnorm_scale", COUNT(row_widths) * COUNT(row_counts),
                                          row_name, run_rmsnorm_scale};
