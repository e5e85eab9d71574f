// Results with a norm of their own on their way into the residual, and those who read it then.
#include "tests/kernel/cases/cases_gemv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_ROW 40u // of the projection that reads it

static const struct post_size {
    uint32_t n_embd, n_cols, part_rows;
    bool has_bias, has_gamma;
    bool is_parted; // the residual, before
    bool is_scaled;
} sizes[] = {
    {96, 64, 0, false, true, false, false},
    {160, 352, 48, true, true, true, true},
    {4128, 32, 0, false, true, true, false},
};

// Rows of shape_names of cases_gemv.c.
static const size_t shapes[] = {
    0, 1, 2, 4, KT_GEMV_NAMED - KT_GEMV_HALVES, KT_GEMV_NAMED - KT_GEMV_HALVES + 2};

// The case after these: the largest groups, whose sums, with the codes of a codebook, must fit
// shared memory.
#define N_SHAPED     (COUNT(sizes) * COUNT(shapes))
#define LARGE_GROUPS "split:1024:1"

static struct kt_gemv_variant get_variant(size_t index)
{
    if (index == N_SHAPED) {
        return (struct kt_gemv_variant){GI_GGML_TYPE_IQ4_NL, 1, shapes[0]};
    }
    const size_t shape = index % COUNT(shapes);
    const bool is_float = shape == 0 || shape == 3;
    return (struct kt_gemv_variant){is_float ? GI_GGML_TYPE_F32 : GI_GGML_TYPE_Q4_0,
                                    index / COUNT(shapes), shapes[shape]};
}

static void name_post(size_t index, char *text, size_t size)
{
    const struct kt_gemv_variant variant = get_variant(index);
    const struct post_size *s = &sizes[variant.size];
    const int n = index < N_SHAPED ? kt_gemv_print(&variant, text, size)
                                   : snprintf(text, size, "iq4_nl " LARGE_GROUPS " ");
    snprintf(text + n, size - (size_t)n, "%u x %u%s%s%s%s%s", s->n_embd, s->n_cols,
             s->part_rows ? " split" : "", s->has_bias ? " bias" : "", s->has_gamma ? " gamma" : "",
             s->is_parted ? " parted" : "", s->is_scaled ? " scaled" : "");
}

struct post_run {
    const struct post_size *size;
    struct kt_gemv_stream stream;
    struct kt_weight in, out; // to the residual, and from it
    float *x;
    struct gi_range x_range;
    struct gi_range norm_range, plain_range; // results of reading the residual normed and unchanged
    struct gi_logits logits;                 // with its norm, too
};

// Makes the stream parted, with partial sums like those of a norm.
static void part_stream(struct post_run *s, struct kt_run *run)
{
    struct gi_stream *stream = &s->stream.stream;
    const uint32_t n = 5;
    float sums[20];
    kt_fill(run, sums, 4 * n, 0, 2.0f * (float)stream->n_embd / (float)n);
    stream->is_parted = true;
    stream->n_ssq = n;
    for (uint32_t i = 0; i < 4 * n; i++) {
        s->stream.values[stream->part_sums[0] + i] = sums[i];
    }
    kt_write(run, &stream->range, stream->part_sums[0] * sizeof(float), sums, sizeof(sums));
}

static bool init(struct post_run *s, struct kt_run *run, const struct kt_gemv_variant *variant)
{
    const struct post_size *size = &sizes[variant->size];
    const struct kt_weight_params in = {.type = variant->type,
                                        .n_rows = size->n_embd,
                                        .n_cols = size->n_cols,
                                        .max_part_rows = size->part_rows,
                                        .has_bias = size->has_bias,
                                        .has_gamma = size->has_gamma,
                                        .has_post = true};
    const struct kt_weight_params out = {
        .type = variant->type, .n_rows = N_ROW, .n_cols = size->n_embd};
    *s = (struct post_run){.size = size};
    s->x = kt_gemv_x(run, size->n_cols, &s->x_range);
    s->norm_range = kt_range(run, "norm", NULL, 48 * sizeof(float));
    s->plain_range = kt_range(run, "plain", NULL, 48 * sizeof(float));
    const size_t logits_size = (size_t)gi_logits_layout(&s->logits, N_ROW);
    s->logits.range = kt_range(run, "logits", NULL, logits_size);
    const bool is_good = kt_gemv_stream_init(&s->stream, run, size->n_embd, 0, 1) &
                         kt_weight_init(&s->in, run, &in) & kt_weight_init(&s->out, run, &out);
    if (is_good && size->is_parted) {
        part_stream(s, run);
    }
    return is_good && kt_gemv_set_shape(run, variant);
}

static void finish(struct post_run *s)
{
    free(s->x);
    free(s->stream.values);
    kt_weight_finish(&s->in);
    kt_weight_finish(&s->out);
}

static void record(struct post_run *s, struct kt_run *run)
{
    struct gi_recorder *recorder = &run->recorder;
    struct gi_stream *stream = &s->stream.stream;
    gi_op_gemv_post(recorder, "post", &s->in.weight, s->x_range, 0, s->size->is_scaled, stream);
    gi_op_gemv_stream(recorder, "plain", &s->out.weight, stream, s->plain_range);
    if (s->size->has_gamma) {
        gi_op_gemv_norm(recorder, "norm", &s->out.weight, stream, s->norm_range);
        gi_op_gemv_vocab(recorder, "logits", &s->out.weight, stream, 1, 0, &s->logits);
    }
}

// Works out the residual.
static struct ref_value *residual_of(const struct post_run *s)
{
    const struct gi_stream *stream = &s->stream.stream;
    const uint32_t n = stream->n_embd;
    const float *values = s->stream.values;
    struct ref_value *x = kt_alloc(n, sizeof(*x));
    struct ref_value *y = kt_alloc(s->in.weight.n_rows, sizeof(*y));
    double ssq = 0;
    for (uint32_t i = 0; s->size->is_parted && i < 5; i++) {
        ssq += (double)values[stream->part_sums[0] + 4 * i + 3];
    }
    const double old = s->size->is_parted ? ref_inv_rms(ssq, n, (double)KT_GEMV_NORM_EPS) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const double r = (double)values[stream->residual + i];
        const double u = old * (double)values[stream->residual + stream->u_offset + i];
        x[i] = (struct ref_value){r + u, fabs(r) + fabs(u)};
    }
    ref_gemv(y, s->in.dense, s->x, s->in.bias, n, s->size->n_cols, 1);
    ref_add_normed(x, y, s->in.post, n, (double)KT_GEMV_NORM_EPS,
                   s->size->is_scaled ? (double)s->in.scale : 1);
    free(y);
    return x;
}

// Compares W x, or W (x * gamma) / rms(x), which the logits are as well.
static bool compare(struct post_run *s, struct kt_run *run, const struct ref_value *x,
                    bool has_norm)
{
    const uint32_t n = s->stream.stream.n_embd;
    struct ref_value y[N_ROW];
    double ssq = 0, errors = 0;
    for (uint32_t i = 0; i < n; i++) {
        ssq += x[i].value * x[i].value;
        errors += x[i].magnitude * x[i].magnitude;
    }
    const double scale = has_norm ? ref_inv_rms(ssq, n, (double)KT_GEMV_NORM_EPS) : 1;
    for (uint32_t row = 0; row < N_ROW; row++) {
        y[row] = (struct ref_value){0, 0};
        for (uint32_t i = 0; i < n; i++) {
            const double w = (double)s->out.dense[(size_t)row * n + i] *
                             (has_norm ? scale * (double)s->in.gamma[i] : 1);
            y[row].value += w * x[i].value;
            y[row].magnitude += fabs(w) * x[i].magnitude;
        }
        y[row].magnitude += has_norm ? fabs(y[row].value) * sqrt(errors / ssq) : 0;
    }
    return kt_gemv_compare(run, has_norm ? "norm" : "plain",
                           has_norm ? &s->norm_range : &s->plain_range, 0, y, N_ROW) &&
           (!has_norm || kt_gemv_compare(run, "logits", &s->logits.range, 0, y, N_ROW));
}

static bool run_post(struct kt_run *run, size_t index)
{
    const struct kt_gemv_variant variant = get_variant(index);
    struct post_run s;
    bool is_good =
        init(&s, run, &variant) && (index < N_SHAPED || kt_set(run, "GLINFER_GEMV", LARGE_GROUPS));
    if (is_good) {
        record(&s, run);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 0, 1);
    if (is_good) {
        struct ref_value *x = residual_of(&s);
        is_good = compare(&s, run, x, false) && (!s.size->has_gamma || compare(&s, run, x, true));
        free(x);
    }
    finish(&s);
    return is_good;
}

const struct kt_suite kt_gemv_post = {
    .kernel = "gemv_post",
    .n_case = N_SHAPED + 1,
    .name = name_post,
    .run = run_post,
};
