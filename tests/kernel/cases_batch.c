// Embedding and the operations on a batch of a prompt, against their formulas in double.
#include "kernel_test.h"
#include "ops/batch.h"
#include "ops/gemv.h"
#include "tests/ref/ref_batch.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t pad32(uint32_t n)
{
    return (n + 31) / 32 * 32;
}

// Rows of random values in [-1, 1), their padding too.
static struct gi_rows make_rows(struct kt_run *run, const char *label, float *values,
                                uint32_t n_tokens, uint32_t stride)
{
    size_t n = (size_t)n_tokens * stride;
    if (values) {
        kt_fill(run, values, n, -1, 1);
    }
    return (struct gi_rows){kt_range(run, label, values, n * sizeof(float)), stride, false};
}

// Vectors (gamma, then a table of rotations) of n floats.
static struct gi_vectors make_vectors(struct kt_run *run, const float *values, size_t n,
                                      uint32_t rope)
{
    return (struct gi_vectors){kt_range(run, "vectors", values, n * sizeof(float)), rope};
}

// Compares n values of each row, from column begin on.
static bool compare_rows(struct kt_run *run, const char *what, const struct gi_rows *rows,
                         uint32_t n_tokens, uint32_t begin, uint32_t n, const double *want,
                         const double *bound)
{
    for (size_t m = 0; m < n_tokens; m++) {
        size_t offset = (m * rows->stride + begin) * sizeof(float);
        if (!kt_compare_f32(run, what, &rows->range, offset, want + m * n, bound + m * n, n)) {
            return false;
        }
    }
    return true;
}

//-- embed -----------------------------------------------------------------------------------------

struct embed_case {
    uint32_t type, n_vocab, n_embd, max_part_rows, n_rot, n_past, token;
};

static const struct embed_case embed_cases[] = {
    {GI_GGML_TYPE_F32,     64,  32,   0,  2,   0,    0  },
    {GI_GGML_TYPE_F16,     64,  96,   16, 32,  1,    63 },
    {GI_GGML_TYPE_Q4_0,    500, 576,  64, 64,  63,   499},
    {GI_GGML_TYPE_Q4_1,    500, 576,  0,  64,  64,   17 },
    {GI_GGML_TYPE_Q8_0,    500, 1536, 48, 6,   500,  48 },
    {GI_GGML_TYPE_Q8_0,    100, 4096, 16, 128, 2000, 31 },
    {GI_GGML_TYPE_BF16,    20,  768,  0,  2,   0,    3  },
    {GI_GGML_TYPE_Q5_0,    20,  768,  0,  2,   0,    4  },
    {GI_GGML_TYPE_Q5_1,    20,  768,  0,  2,   0,    5  },
    {GI_GGML_TYPE_Q2_K,    20,  768,  0,  2,   0,    6  },
    {GI_GGML_TYPE_Q3_K,    20,  768,  0,  2,   0,    7  },
    {GI_GGML_TYPE_Q4_K,    20,  768,  0,  2,   0,    8  },
    {GI_GGML_TYPE_Q5_K,    20,  768,  0,  2,   0,    9  },
    {GI_GGML_TYPE_Q6_K,    20,  768,  0,  2,   0,    10 },
    {GI_GGML_TYPE_IQ4_NL,  20,  768,  0,  2,   0,    11 },
    {GI_GGML_TYPE_IQ4_XS,  20,  768,  0,  2,   0,    12 },
    {GI_GGML_TYPE_MXFP4,   20,  768,  0,  2,   0,    13 },
    {GI_GGML_TYPE_TQ1_0,   20,  768,  0,  2,   0,    14 },
    {GI_GGML_TYPE_TQ2_0,   20,  768,  0,  2,   0,    15 },
    {GI_GGML_TYPE_IQ1_S,   20,  768,  0,  2,   0,    1  },
    {GI_GGML_TYPE_IQ1_M,   20,  768,  0,  2,   0,    2  },
    {GI_GGML_TYPE_IQ2_XXS, 20,  768,  0,  2,   0,    3  },
    {GI_GGML_TYPE_IQ2_XS,  20,  768,  0,  2,   0,    4  },
    {GI_GGML_TYPE_IQ2_S,   20,  768,  0,  2,   0,    5  },
    {GI_GGML_TYPE_IQ3_XXS, 20,  768,  0,  2,   0,    6  },
    {GI_GGML_TYPE_IQ3_S,   20,  768,  0,  2,   0,    7  },
};

static void embed_name(size_t index, char *text, size_t size)
{
    const struct embed_case *c = &embed_cases[index];
    snprintf(text, size, "%s %ux%u token %u in parts of %u, rotations of %u",
             gi_ggml_type_find(c->type)->name, c->n_vocab, c->n_embd, c->token, c->max_part_rows,
             c->n_past);
}

// Zeros with room for the vectors of a stream and a table of rotations up to n_past.
static struct gi_vectors make_embed_vectors(struct kt_run *run, const struct embed_case *c,
                                            float **values)
{
    uint32_t rope = pad32(c->n_embd) + 4;
    size_t n = rope + (size_t)(c->n_past + 1) * c->n_rot;
    *values = kt_alloc(n, sizeof(float));
    kt_fill(run, *values, n, -1, 1);
    return make_vectors(run, *values, n, rope);
}

static bool check_stream(struct kt_run *run, const struct gi_stream *stream, const double *residual,
                         const double *norm, double ssq, double roundings)
{
    uint32_t n = stream->n_embd;
    assert(norm);
    double *bound = kt_alloc(n, sizeof(double));
    float *partial = kt_alloc(stream->n_ssq, sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        bound[i] =
            roundings * (double)FLT_EPSILON * fmax(fabs(residual ? residual[i] : 0), fabs(norm[i]));
    }
    bool is_good =
        (!residual || kt_compare_f32(run, "residual", &stream->range,
                                     stream->residual * sizeof(float), residual, bound, n)) &&
        kt_compare_f32(run, "norm", &stream->range, stream->norm * sizeof(float), norm, bound, n) &&
        kt_read(run, &stream->range, stream->ssq * sizeof(float), partial,
                stream->n_ssq * sizeof(float));
    double sum = 0;
    for (uint32_t i = 0; is_good && i < stream->n_ssq; i++) {
        sum += (double)partial[i];
    }
    if (is_good && !(fabs(sum - ssq) <= 32 * (double)FLT_EPSILON * ssq)) {
        is_good = kt_fail(run, "sum of squares is %.9g, want %.9g", sum, ssq);
    }
    free(partial);
    free(bound);
    return is_good;
}

static bool run_embed_token(struct kt_run *run, size_t index)
{
    const struct embed_case *c = &embed_cases[index];
    const float scale = 1.5f;
    struct glinfer_error err;
    struct kt_weight weight;
    struct gi_stream stream = {0};
    float *values = NULL;
    double *want = kt_alloc(2 * (size_t)c->n_embd + c->n_rot, sizeof(double));
    double *zeros = kt_alloc(c->n_rot, sizeof(double));
    struct gi_vectors vectors = make_embed_vectors(run, c, &values);
    uint64_t size = gi_stream_layout(&stream, c->n_embd, c->n_rot, 0);
    stream.range = kt_range(run, "stream", NULL, (size_t)size);
    run->state.token = c->token;
    bool is_good =
        kt_weight_init(&weight, run,
                       &(struct kt_weight_params){.type = c->type,
                                                  .n_rows = c->n_vocab,
                                                  .n_cols = c->n_embd,
                                                  .max_part_rows = c->max_part_rows}) &&
        (gi_op_embed_token(&run->recorder, &weight.weight, &vectors, 4, scale, &stream, &err) ||
         kt_fail(run, "%s", err.message)) &&
        kt_seal(run) && kt_replay(run, c->n_past, 1);
    if (is_good) {
        const float *row = weight.dense + (size_t)c->token * c->n_embd;
        double ssq = ref_embed(row, values + 4, c->n_embd, (double)scale, want, want + c->n_embd);
        double *rotations = want + 2 * (size_t)c->n_embd;
        for (uint32_t i = 0; i < c->n_rot; i++) {
            rotations[i] = (double)values[vectors.rope + (size_t)c->n_past * c->n_rot + i];
        }
        is_good = check_stream(run, &stream, want, want + c->n_embd, ssq, 4) &&
                  kt_compare_f32(run, "rope", &stream.range, stream.rope * sizeof(float), rotations,
                                 zeros, c->n_rot) &&
                  kt_bench(run, c->n_past, 1, (uint64_t)c->n_embd * 8);
    }
    kt_weight_finish(&weight);
    free(values);
    free(want);
    free(zeros);
    return is_good;
}

const struct kt_suite kt_embed_token = {"embed_token", COUNT(embed_cases), embed_name,
                                        run_embed_token};

static const uint32_t embed_batch_sizes[] = {1, 7, 33, 512};

static void embed_batch_name(size_t index, char *text, size_t size)
{
    const struct embed_case *c = &embed_cases[index / COUNT(embed_batch_sizes)];
    snprintf(text, size, "%s %ux%u in parts of %u, %u tokens", gi_ggml_type_find(c->type)->name,
             c->n_vocab, c->n_embd, c->max_part_rows,
             embed_batch_sizes[index % COUNT(embed_batch_sizes)]);
}

static bool check_embed_batch(struct kt_run *run, const struct kt_weight *weight,
                              const uint32_t *tokens, uint32_t n_tokens, double scale,
                              const struct gi_rows *x)
{
    uint32_t n = weight->weight.n_cols;
    double *want = kt_alloc((size_t)n_tokens * n, sizeof(double));
    double *bound = kt_alloc((size_t)n_tokens * n, sizeof(double));
    for (size_t i = 0; i < (size_t)n_tokens * n; i++) {
        want[i] = scale * (double)weight->dense[(size_t)tokens[i / n] * n + i % n];
        bound[i] = 2 * (double)FLT_EPSILON * fabs(want[i]);
    }
    bool is_good = compare_rows(run, "x", x, n_tokens, 0, n, want, bound);
    free(want);
    free(bound);
    return is_good;
}

static bool run_embed_batch(struct kt_run *run, size_t index)
{
    const struct embed_case *c = &embed_cases[index / COUNT(embed_batch_sizes)];
    uint32_t n_tokens = embed_batch_sizes[index % COUNT(embed_batch_sizes)];
    struct glinfer_error err;
    struct kt_weight weight;
    uint32_t *tokens = kt_alloc(n_tokens, sizeof(*tokens));
    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = kt_index(run, c->n_vocab);
    }
    struct gi_range range = kt_range(run, "tokens", tokens, n_tokens * sizeof(*tokens));
    struct gi_rows x = make_rows(run, "x", NULL, n_tokens, pad32(c->n_embd) + 32);
    bool is_good = kt_weight_init(&weight, run,
                                  &(struct kt_weight_params){.type = c->type,
                                                             .n_rows = c->n_vocab,
                                                             .n_cols = c->n_embd,
                                                             .max_part_rows = c->max_part_rows}) &&
                   (gi_op_embed_batch(&run->recorder, &weight.weight, range, 0.5f, &x, &err) ||
                    kt_fail(run, "%s", err.message)) &&
                   kt_seal(run) && kt_replay(run, c->n_past, n_tokens) &&
                   check_embed_batch(run, &weight, tokens, n_tokens, 0.5, &x) &&
                   kt_bench(run, c->n_past, n_tokens, (uint64_t)n_tokens * c->n_embd * 4);
    kt_weight_finish(&weight);
    free(tokens);
    return is_good;
}

const struct kt_suite kt_embed_batch = {"embed_batch",
                                        COUNT(embed_cases) * COUNT(embed_batch_sizes),
                                        embed_batch_name, run_embed_batch};

//-- rows: last_row, rmsnorm -----------------------------------------------------------------------

static const uint32_t row_widths[] = {32, 96, 576, 1536, 2048};
static const uint32_t row_counts[] = {1, 2, 7, 31, 32, 33, 128, 512};

static void row_name(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u tokens of %u", row_counts[index % COUNT(row_counts)],
             row_widths[index / COUNT(row_counts)]);
}

static bool run_last_row(struct kt_run *run, size_t index)
{
    uint32_t n = row_counts[index % COUNT(row_counts)];
    uint32_t width = row_widths[index / COUNT(row_counts)], stride = width + 64;
    struct glinfer_error err;
    struct gi_stream stream = {0};
    float *x = kt_alloc((size_t)n * stride, sizeof(float));
    float *gamma = kt_alloc(width, sizeof(float));
    double *want = kt_alloc(2 * (size_t)width, sizeof(double));
    struct gi_rows rows = make_rows(run, "x", x, n, stride);
    kt_fill(run, gamma, width, 0.5f, 2);
    struct gi_vectors vectors = make_vectors(run, gamma, width, 0);
    uint64_t size = gi_stream_layout(&stream, width, 2, 0);
    stream.range = kt_range(run, "stream", NULL, (size_t)size);
    bool is_good = (gi_op_last_row(&run->recorder, &rows, &vectors, 0, &stream, &err) ||
                    kt_fail(run, "%s", err.message)) &&
                   kt_seal(run) && kt_replay(run, 5, n);
    if (is_good) {
        double ssq = ref_embed(x + (size_t)(n - 1) * stride, gamma, width, 1, want, want + width);
        is_good = check_stream(run, &stream, want, want + width, ssq, 4);
    }
    free(x);
    free(gamma);
    free(want);
    return is_good;
}

const struct kt_suite kt_last_row = {"last_row", COUNT(row_widths) * COUNT(row_counts), row_name,
                                     run_last_row};

struct norm_case {
    uint32_t n_tokens, width, stride;
    float *x, *gamma;
    double *want, *bound;
    struct gi_rows rows, y;
    struct gi_vectors vectors;
};

static void norm_init(struct norm_case *c, struct kt_run *run, size_t index, float eps)
{
    c->n_tokens = row_counts[index % COUNT(row_counts)];
    c->width = row_widths[index / COUNT(row_counts)];
    c->stride = c->width + 32;
    c->x = kt_alloc((size_t)c->n_tokens * c->stride, sizeof(float));
    c->gamma = kt_alloc(c->width, sizeof(float));
    c->want = kt_alloc((size_t)c->n_tokens * c->width, sizeof(double));
    c->bound = kt_alloc((size_t)c->n_tokens * c->width, sizeof(double));
    c->rows = make_rows(run, "x", c->x, c->n_tokens, c->stride);
    kt_fill(run, c->gamma, c->width, -2, 2);
    c->vectors = make_vectors(run, c->gamma, c->width, 0);
    c->y = make_rows(run, "y", NULL, c->n_tokens, c->width);
    for (size_t m = 0; m < c->n_tokens; m++) {
        ref_rmsnorm(c->x + m * c->stride, c->gamma, c->width, (double)eps, c->want + m * c->width);
    }
    // A sum of width / 64 terms an invocation, six more levels, the root and two products.
    for (size_t i = 0; i < (size_t)c->n_tokens * c->width; i++) {
        c->bound[i] = 16 * (double)FLT_EPSILON * fabs(c->want[i]);
    }
}

static void norm_finish(struct norm_case *c)
{
    free(c->x);
    free(c->gamma);
    free(c->want);
    free(c->bound);
}

static bool run_rmsnorm(struct kt_run *run, size_t index)
{
    const float eps = 1e-5f;
    struct glinfer_error err;
    struct norm_case c;
    norm_init(&c, run, index, eps);
    bool is_good =
        (gi_op_rmsnorm(&run->recorder, "norm", &c.rows, c.width, &c.vectors, 0, eps, &c.y, &err) ||
         kt_fail(run, "%s", err.message)) &&
        kt_seal(run) && kt_replay(run, 3, c.n_tokens) &&
        compare_rows(run, "y", &c.y, c.n_tokens, 0, c.width, c.want, c.bound) &&
        kt_bench(run, 3, c.n_tokens, (uint64_t)c.n_tokens * c.width * 8);
    norm_finish(&c);
    return is_good;
}

const struct kt_suite kt_rmsnorm = {"rmsnorm", COUNT(row_widths) * COUNT(row_counts), row_name,
                                    run_rmsnorm};

// The same added to what y holds.
static bool run_rmsnorm_add(struct kt_run *run, size_t index)
{
    const float eps = 1e-5f;
    struct glinfer_error err;
    struct norm_case c;
    norm_init(&c, run, index, eps);
    size_t n = (size_t)c.n_tokens * c.width;
    float *before = kt_alloc(n, sizeof(float));
    kt_fill(run, before, n, -1, 1);
    for (size_t i = 0; i < n; i++) {
        c.want[i] += (double)before[i];
        c.bound[i] += (double)FLT_EPSILON * fabs(c.want[i]);
    }
    bool is_good = kt_write(run, &c.y.range, 0, before, n * sizeof(float)) &&
                   (gi_op_rmsnorm_add(&run->recorder, "norm", &c.rows, c.width, &c.vectors, 0, eps,
                                      &c.y, &err) ||
                    kt_fail(run, "%s", err.message)) &&
                   kt_seal(run) && kt_replay(run, 3, c.n_tokens) &&
                   compare_rows(run, "y", &c.y, c.n_tokens, 0, c.width, c.want, c.bound);
    free(before);
    norm_finish(&c);
    return is_good;
}

const struct kt_suite kt_rmsnorm_add = {"rmsnorm_add", COUNT(row_widths) * COUNT(row_counts),
                                        row_name, run_rmsnorm_add};

//-- layernorm -------------------------------------------------------------------------------------

// Rows with a mean of their own; gamma, then beta.
struct layernorm_case {
    uint32_t n_tokens, width, stride;
    float *x, *vectors;
    double *want, *bound;
};

static void layernorm_init(struct layernorm_case *c, struct kt_run *run, uint32_t n_tokens,
                           uint32_t width, uint32_t stride, float eps)
{
    *c = (struct layernorm_case){.n_tokens = n_tokens, .width = width, .stride = stride};
    const size_t n = (size_t)n_tokens * width;
    c->x = kt_alloc((size_t)n_tokens * stride, sizeof(float));
    c->vectors = kt_alloc(2 * (size_t)width, sizeof(float));
    c->want = kt_alloc(n, sizeof(double));
    c->bound = kt_alloc(n, sizeof(double));
    kt_fill(run, c->x, (size_t)n_tokens * stride, -1, 2);
    kt_fill(run, c->vectors, 2 * (size_t)width, -2, 2);
    for (size_t m = 0; m < n_tokens; m++) {
        ref_layernorm(c->x + m * stride, c->vectors, c->vectors + width, width, (double)eps,
                      c->want + m * width, c->bound + m * width);
    }
    // As of rmsnorm, and the mean beside.
    for (size_t i = 0; i < n; i++) {
        c->bound[i] *= 16 * (double)FLT_EPSILON;
    }
}

static void layernorm_finish(struct layernorm_case *c)
{
    free(c->x);
    free(c->vectors);
    free(c->want);
    free(c->bound);
}

static bool run_layernorm(struct kt_run *run, size_t index)
{
    const float eps = 1e-5f;
    struct glinfer_error err;
    struct layernorm_case c;
    const uint32_t width = row_widths[index / COUNT(row_counts)];
    layernorm_init(&c, run, row_counts[index % COUNT(row_counts)], width, width + 32, eps);
    const size_t n = (size_t)c.n_tokens * c.stride;
    struct gi_rows x = {kt_range(run, "x", c.x, n * sizeof(float)), c.stride, false};
    struct gi_rows y = make_rows(run, "y", NULL, c.n_tokens, width);
    struct gi_vectors vectors = make_vectors(run, c.vectors, 2 * (size_t)width, 0);
    bool is_good =
        (gi_op_layernorm(&run->recorder, "norm", &x, width, &vectors, 0, width, eps, &y, &err) ||
         kt_fail(run, "%s", err.message)) &&
        kt_seal(run) && kt_replay(run, 3, c.n_tokens) &&
        compare_rows(run, "y", &y, c.n_tokens, 0, width, c.want, c.bound) &&
        kt_bench(run, 3, c.n_tokens, (uint64_t)c.n_tokens * width * 8);
    layernorm_finish(&c);
    return is_good;
}

const struct kt_suite kt_layernorm = {"layernorm", COUNT(row_widths) * COUNT(row_counts), row_name,
                                      run_layernorm};

static void layernorm_step_name(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u", row_widths[index]);
}

// The stream's norm, and a sum of squares that makes the consumers' 1 / rms 1.
static bool run_layernorm_step(struct kt_run *run, size_t index)
{
    const float eps = 1e-5f;
    const uint32_t width = row_widths[index];
    struct glinfer_error err;
    struct gi_stream stream = {0};
    struct layernorm_case c;
    layernorm_init(&c, run, 1, width, width, eps);
    size_t size = (size_t)gi_stream_layout(&stream, width, 2, eps);
    float *values = kt_alloc(size, 1), ssq = 0;
    kt_fill(run, values, size / sizeof(float), -1, 1);
    memcpy(values + stream.residual, c.x, width * sizeof(float));
    stream.n_ssq = 3;
    stream.range = kt_range(run, "stream", values, size);
    struct gi_vectors vectors = make_vectors(run, c.vectors, 2 * (size_t)width, 0);
    bool is_good =
        (gi_op_layernorm_step(&run->recorder, "norm", &vectors, 0, width, &stream, &err) ||
         kt_fail(run, "%s", err.message)) &&
        kt_seal(run) && kt_replay(run, 3, 1) &&
        kt_compare_f32(run, "norm", &stream.range, stream.norm * sizeof(float), c.want, c.bound,
                       width) &&
        kt_read(run, &stream.range, stream.ssq * sizeof(float), &ssq, sizeof(ssq));
    if (is_good) {
        const double rms = (double)ssq / width + (double)eps;
        is_good = (stream.n_ssq == 1 && fabs(rms - 1) <= 4 * (double)FLT_EPSILON) ||
                  kt_fail(run, "the mean of squares is %.9g with eps, want 1", rms);
    }
    free(values);
    layernorm_finish(&c);
    return is_good;
}

const struct kt_suite kt_layernorm_step = {"layernorm_step", COUNT(row_widths), layernorm_step_name,
                                           run_layernorm_step};

static void post_norm_name(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u%s", row_widths[index / 2], index % 2 ? " before a norm" : "");
}

// residual += norm(y), and what the stream's next consumer reads of it.
static bool run_post_norm(struct kt_run *run, size_t index)
{
    const uint32_t n = row_widths[index / 2];
    const bool has_gamma = index % 2 == 1;
    const float eps = 1e-5f;
    struct glinfer_error err;
    struct gi_stream stream = {0};
    float *y = kt_alloc(n, sizeof(float)), *gamma = kt_alloc(2 * (size_t)n, sizeof(float));
    double *want = kt_alloc(2 * (size_t)n, sizeof(double)), ssq = 0;
    size_t size = (size_t)gi_stream_layout(&stream, n, 2, eps);
    float *values = kt_alloc(size, 1);
    kt_fill(run, values, size / sizeof(float), 0.5f, 1); // sums without cancellation
    kt_fill(run, y, n, 0.5f, 3);
    kt_fill(run, gamma, 2 * (size_t)n, 0.5f, 2);
    ref_rmsnorm(y, gamma, n, (double)eps, want);
    for (uint32_t i = 0; i < n; i++) {
        want[i] += (double)values[stream.residual + i];
        want[n + i] = has_gamma ? want[i] * (double)gamma[n + i] : (double)values[stream.norm + i];
        ssq += want[i] * want[i];
    }
    stream.range = kt_range(run, "stream", values, size);
    struct gi_range y_range = kt_range(run, "y", y, n * sizeof(float));
    struct gi_vectors vectors = make_vectors(run, gamma, 2 * (size_t)n, 0);
    bool is_good = (gi_op_post_norm(&run->recorder, "post_norm", y_range, &vectors, 0,
                                    has_gamma ? n : UINT32_MAX, &stream, &err) ||
                    kt_fail(run, "%s", err.message)) &&
                   kt_seal(run) && kt_replay(run, 5, 1) &&
                   check_stream(run, &stream, want, want + n, ssq, 16);
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
    struct glinfer_error err;
    struct norm_case c;
    norm_init(&c, run, index, 0);
    size_t n = (size_t)c.n_tokens * c.stride;
    for (size_t i = 0; i < n; i++) {
        c.x[i] *= 4096;
    }
    bool is_good =
        (gi_op_rmsnorm(&run->recorder, "norm", &c.rows, c.width, &c.vectors, 0, 0, &c.y, &err) ||
         kt_fail(run, "%s", err.message)) &&
        kt_seal(run) && kt_replay(run, 0, c.n_tokens) &&
        compare_rows(run, "y", &c.y, c.n_tokens, 0, c.width, c.want, c.bound) &&
        kt_write(run, &c.rows.range, 0, c.x, n * sizeof(float)) && kt_replay(run, 0, c.n_tokens) &&
        compare_rows(run, "scaled y", &c.y, c.n_tokens, 0, c.width, c.want, c.bound);
    norm_finish(&c);
    return is_good;
}

const struct kt_suite kt_rmsnorm_scale = {"rmsnorm_scale", COUNT(row_widths) * COUNT(row_counts),
                                          row_name, run_rmsnorm_scale};

//-- gemm ------------------------------------------------------------------------------------------

struct gemm_case {
    uint32_t type, n_tokens, n_rows, n_cols, max_part_rows;
    bool has_bias, is_added;
};

static const struct gemm_case gemm_cases[] = {
    {GI_GGML_TYPE_F32,   1,   16,   32,   0,   false, false},
    {GI_GGML_TYPE_F16,   2,   32,   96,   16,  true,  false},
    {GI_GGML_TYPE_Q4_0,  7,   80,   64,   48,  false, true },
    {GI_GGML_TYPE_Q4_1,  31,  96,   576,  0,   true,  true },
    {GI_GGML_TYPE_Q8_0,  32,  144,  1536, 64,  false, false},
    {GI_GGML_TYPE_F32,   33,  176,  2048, 0,   true,  true },
    {GI_GGML_TYPE_F16,   65,  576,  96,   0,   false, true },
    {GI_GGML_TYPE_Q4_0,  128, 960,  576,  0,   false, false},
    {GI_GGML_TYPE_Q4_1,  128, 576,  576,  0,   false, true },
    {GI_GGML_TYPE_Q4_1,  512, 960,  576,  0,   false, false},
    {GI_GGML_TYPE_Q4_1,  512, 3072, 576,  0,   false, false},
    {GI_GGML_TYPE_Q4_1,  512, 576,  1536, 0,   false, true },
    {GI_GGML_TYPE_Q8_0,  32,  3072, 576,  512, false, false},
    {GI_GGML_TYPE_Q4_1,  16,  3072, 576,  0,   false, false},
    {GI_GGML_TYPE_Q5_0,  5,   48,   768,  32,  false, false},
    {GI_GGML_TYPE_Q4_K,  5,   48,   768,  32,  false, false},
    {GI_GGML_TYPE_Q6_K,  5,   48,   768,  32,  false, false},
    {GI_GGML_TYPE_IQ3_S, 5,   48,   768,  32,  false, true },
};

static const struct batch_shape {
    const char *name, *batch, *gemm; // of GLINFER_BATCH, of GLINFER_GEMM
} batch_shapes[] = {
    {"split",  "split", "narrow" },
    {"square", "split", "64x64:2"},
    {"wide",   "split", "32x64:2"},
    {"lane",   "lane",  "narrow" },
    {"row",    "row",   "narrow" },
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
    bool is_good = compare_rows(run, "y", y, c->n_tokens, 0, n_rows, want, bound);
    free(dense);
    free(want);
    free(bound);
    return is_good;
}

static bool run_gemm_case(struct kt_run *run, const struct gemm_case *c,
                          const struct batch_shape *shape)
{
    const float scale = 0.75f;
    struct glinfer_error err;
    struct kt_weight weight;
    uint32_t x_stride = pad32(c->n_cols) + 32, y_stride = pad32(c->n_rows) + 32;
    float *x = kt_alloc((size_t)c->n_tokens * x_stride, sizeof(float));
    float *before = kt_alloc((size_t)c->n_tokens * y_stride, sizeof(float));
    struct gi_rows x_rows = make_rows(run, "x", x, c->n_tokens, x_stride);
    struct gi_rows y = make_rows(run, "y", before, c->n_tokens, y_stride);
    setenv("GLINFER_BATCH", shape->batch, 1);
    setenv("GLINFER_GEMM", shape->gemm, 1);
    bool is_good = kt_weight_init(&weight, run,
                                  &(struct kt_weight_params){.type = c->type,
                                                             .n_rows = c->n_rows,
                                                             .n_cols = c->n_cols,
                                                             .max_part_rows = c->max_part_rows,
                                                             .has_bias = c->has_bias}) &&
                   (gi_op_gemm(&run->recorder, "gemm", &weight.weight, &x_rows, c->is_added, scale,
                               &y, &err) ||
                    kt_fail(run, "%s", err.message)) &&
                   kt_seal(run) && kt_replay(run, 9, c->n_tokens) &&
                   check_gemm(run, c, &weight, x, x_stride, before, (double)scale, &y) &&
                   kt_bench(run, 9, c->n_tokens, kt_weight_bytes(&weight.weight));
    kt_weight_finish(&weight);
    free(x);
    free(before);
    return is_good;
}

static bool run_gemm(struct kt_run *run, size_t index)
{
    return run_gemm_case(run, &gemm_cases[index / COUNT(batch_shapes)],
                         &batch_shapes[index % COUNT(batch_shapes)]);
}

const struct kt_suite kt_gemm = {"gemm", COUNT(gemm_cases) * COUNT(batch_shapes), gemm_name,
                                 run_gemm};

// The other weight types, which differ in no more than how a block is read: in a form of each way of reading,
// with more tokens than a tile, and than gemv_batch has them with.
static const uint32_t other_types[] = {
    GI_GGML_TYPE_BF16,   GI_GGML_TYPE_Q5_1,  GI_GGML_TYPE_Q2_K,    GI_GGML_TYPE_Q3_K,
    GI_GGML_TYPE_Q5_K,   GI_GGML_TYPE_IQ1_S, GI_GGML_TYPE_IQ1_M,   GI_GGML_TYPE_IQ2_XXS,
    GI_GGML_TYPE_IQ2_XS, GI_GGML_TYPE_IQ2_S, GI_GGML_TYPE_IQ3_XXS, GI_GGML_TYPE_IQ4_NL,
    GI_GGML_TYPE_IQ4_XS, GI_GGML_TYPE_MXFP4, GI_GGML_TYPE_TQ1_0,   GI_GGML_TYPE_TQ2_0};

static const struct batch_shape quant_shapes[] = {
    {"split", "split", "narrow" },
    {"wide",  "split", "32x64:2"},
    {"lane",  "lane",  "narrow" },
};

static struct gemm_case quant_case(size_t index)
{
    return (struct gemm_case){.type = other_types[index / COUNT(quant_shapes)],
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

const struct kt_suite kt_gemm_quant = {"gemm_quant", COUNT(other_types) * COUNT(quant_shapes),
                                       gemm_quant_name, run_gemm_quant};

//-- glu ----------------------------------------------------------------------------------------

struct glu_case {
    uint32_t n_tokens, n_ff, max_part_rows;
    bool is_apart;
};

static const struct glu_case glu_cases[] = {
    {1,   32,   0,    false},
    {2,   96,   64,   false},
    {7,   1536, 0,    false},
    {33,  2048, 0,    false},
    {31,  100,  48,   false},
    {32,  20,   16,   false},
    {512, 1536, 1024, false},
    {3,   40,   0,    true },
    {33,  100,  48,   true },
};

// Every other case.
static bool is_gelu(const struct glu_case *c)
{
    return (c - glu_cases) % 2 == 1;
}

static void glu_name(size_t index, char *text, size_t size)
{
    const struct glu_case *c = &glu_cases[index];
    snprintf(text, size, "%u tokens of %u in parts of %u%s", c->n_tokens, c->n_ff, c->max_part_rows,
             c->is_apart ? " apart" : "");
}

// What glu looks at of a gate_up weight: where its parts begin.
static struct gi_weight split_gate_up(const struct glu_case *c)
{
    struct gi_weight weight = {.name = "gate_up",
                               .n_rows =
                                   c->is_apart ? (c->n_ff + 15) / 16 * 32 : (c->n_ff + 7) / 8 * 16,
                               .is_apart = c->is_apart};
    uint32_t part_rows = c->max_part_rows ? c->max_part_rows : weight.n_rows;
    for (uint32_t begin = 0; begin < weight.n_rows; begin += part_rows) {
        uint32_t left = weight.n_rows - begin;
        weight.parts[weight.n_parts++] = (struct gi_weight_part){
            .row_begin = begin, .n_rows = left < part_rows ? left : part_rows};
    }
    return weight;
}

static bool check_glu(struct kt_run *run, const struct glu_case *c, const struct gi_weight *weight,
                      const float *gate_up, uint32_t stride, const struct gi_rows *act)
{
    size_t n = (size_t)c->n_tokens * c->n_ff;
    double *want = kt_alloc(n, sizeof(double)), *bound = kt_alloc(n, sizeof(double));
    const struct gi_weight_part whole = {.n_rows = weight->n_rows};
    const struct gi_weight_part *parts = c->is_apart ? &whole : weight->parts;
    uint32_t n_part = parts[0].n_rows / 2; // the last part may have fewer
    assert(n_part > 0);
    for (size_t i = 0; i < n; i++) {
        uint32_t column = (uint32_t)(i % c->n_ff);
        const struct gi_weight_part *part = &parts[column / n_part];
        const float *gate = gate_up + i / c->n_ff * stride + part->row_begin + column % n_part;
        want[i] = ref_glu((double)gate[0], (double)gate[part->n_rows / 2], is_gelu(c));
        // exp carries the rounding of its argument, up to 1.6 (12 + 0.045 * 12^3) of GELU.
        bound[i] = (is_gelu(c) ? 400 : 32) * (double)FLT_EPSILON * fabs(want[i]) + 1e-30;
    }
    bool is_good = compare_rows(run, "act", act, c->n_tokens, 0, c->n_ff, want, bound);
    free(want);
    free(bound);
    return is_good;
}

static bool run_glu(struct kt_run *run, size_t index)
{
    const struct glu_case *c = &glu_cases[index];
    struct glinfer_error err;
    struct gi_weight weight = split_gate_up(c);
    uint32_t stride = pad32(weight.n_rows);
    size_t n = (size_t)c->n_tokens * stride;
    float *gate_up = kt_alloc(n, sizeof(float));
    kt_fill(run, gate_up, n, -12, 12);
    struct gi_rows rows = {kt_range(run, "gate_up", gate_up, n * sizeof(float)), stride, false};
    struct gi_rows act = make_rows(run, "act", NULL, c->n_tokens, pad32(c->n_ff));
    bool is_good =
        (gi_op_glu(&run->recorder, "glu", &weight, &rows, c->n_ff,
                   is_gelu(c) ? GI_ACTIVATION_GELU_TANH : GI_ACTIVATION_SILU, &act, &err) ||
         kt_fail(run, "%s", err.message)) &&
        kt_seal(run) && kt_replay(run, 0, c->n_tokens) &&
        check_glu(run, c, &weight, gate_up, stride, &act) &&
        kt_bench(run, 0, c->n_tokens, (uint64_t)c->n_tokens * c->n_ff * 12);
    free(gate_up);
    return is_good;
}

const struct kt_suite kt_glu = {"glu", COUNT(glu_cases), glu_name, run_glu};
