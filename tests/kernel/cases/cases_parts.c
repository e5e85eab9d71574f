// A residual in parts: attention with its projection, which leaves them, and the two projections that take them.
#include "ops/attention/attention_out.h"
#include "ops/gemv/gemv.h"
#include "tests/kernel/fixture/kernel_test.h"
#include "tests/ref/ref_batch.h"
#include "tests/ref/ref_gemv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NORM_EPS  1e-5f
#define ROUNDINGS 16 // as for other projections: cases_gemv.c

//-- the stream ------------------------------------------------------------------------------------

// A stream of random contents, its residual in parts, and what it amounts to.
struct stream {
    struct gi_stream stream;
    float *values;
    float *x,
        *magnitude;   // (n_embd) residual and parts, and the sum of what is added up; times gamma
    double *residual; // (n_embd)
    double inv_rms;
};

static bool stream_init(struct stream *s, struct kt_run *run, uint32_t n_embd, uint32_t n_parts)
{
    struct gi_stream *stream = &s->stream;
    const size_t size = (size_t)gi_stream_layout(stream, n_embd, 0, NORM_EPS);
    const uint32_t part_size = gi_stream_part_size(stream);
    double ssq = 0;
    s->values = kt_alloc(size, 1);
    s->x = kt_alloc(n_embd, sizeof(float));
    s->magnitude = kt_alloc(n_embd, sizeof(float));
    s->residual = kt_alloc(n_embd, sizeof(double));
    kt_fill(run, s->values, size / sizeof(float), -1, 1);
    const float *parts = s->values + stream->parts;
    for (uint32_t i = 0; i < n_embd; i++) {
        double sum = (double)s->values[stream->residual + i], magnitude = fabs(sum);
        for (uint32_t p = 0; p < n_parts; p++) {
            sum += (double)parts[p * part_size + i];
            magnitude += fabs((double)parts[p * part_size + i]);
        }
        const double gamma = (double)parts[n_parts * part_size + i];
        s->residual[i] = sum;
        s->x[i] = (float)(sum * gamma);
        s->magnitude[i] = (float)(magnitude * fabs(gamma));
        ssq += sum * sum;
    }
    s->inv_rms = ref_inv_rms(ssq, n_embd, (double)NORM_EPS);
    stream->n_ssq = 1;
    stream->n_parts = n_parts;
    stream->range = kt_range(run, "stream", s->values, size);
    return !run->has_failed;
}

static void stream_finish(struct stream *s)
{
    free(s->values);
    free(s->x);
    free(s->magnitude);
    free(s->residual);
}

static bool compare(struct kt_run *run, const char *what, const struct gi_range *range,
                    size_t offset, const struct ref_value *values, size_t n)
{
    double *want = kt_alloc(n, sizeof(*want)), *bound = kt_alloc(n, sizeof(*bound));
    for (size_t i = 0; i < n; i++) {
        want[i] = values[i].value;
        bound[i] = ROUNDINGS * (double)FLT_EPSILON * values[i].magnitude;
    }
    const bool is_good = kt_compare_f32(run, what, range, offset, want, bound, n);
    free(want);
    free(bound);
    return is_good;
}

//-- who takes parts -------------------------------------------------------------------------------

struct parts_size {
    uint32_t n_embd, n_rows; // of act, or of x
    uint32_t n_parts;
    bool has_bias;
};

static const struct parts_size sizes[] = {
    {32,  8,    1, false},
    {96,  40,   3, true },
    {64,  36,   2, false},
    {576, 1536, 3, false},
    {960, 96,   8, true },
};
static const uint32_t types[] = {GI_GGML_TYPE_F32, GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q8_0};
static const char *const shapes[] = {"split:128", "split:256:4", "split:64:2:1"};

struct variant {
    const struct parts_size *size;
    uint32_t type;
    const char *shape;
};

static struct variant get_variant(size_t index)
{
    return (struct variant){&sizes[index / COUNT(types) / COUNT(shapes)],
                            types[index / COUNT(shapes) % COUNT(types)],
                            shapes[index % COUNT(shapes)]};
}

static void name_parts(size_t index, char *text, size_t size)
{
    const struct variant v = get_variant(index);
    snprintf(text, size, "%s %s %u, %u in %u parts%s", gi_ggml_type_find(v.type)->name, v.shape,
             v.size->n_rows, v.size->n_embd, v.size->n_parts, v.size->has_bias ? " bias" : "");
}

// The network's gate and up rows, one part.
static bool check_glu(struct kt_run *run, const struct variant *v, struct stream *s)
{
    const uint32_t n_ff = v->size->n_rows, half = (n_ff + 7) / 8 * 8;
    const struct kt_weight_params params = {.type = v->type,
                                            .n_rows = 2 * half,
                                            .n_cols = v->size->n_embd,
                                            .has_bias = v->size->has_bias};
    struct glinfer_error err;
    struct kt_weight weight;
    bool is_good = kt_weight_init(&weight, run, &params);
    struct ref_value *y = kt_alloc(2 * half, sizeof(*y)), *sums = kt_alloc(2 * half, sizeof(*sums));
    struct gi_range act = kt_range(run, "act", NULL, n_ff * sizeof(float));
    ref_gemv(y, weight.dense, s->x, weight.bias, 2 * half, v->size->n_embd, s->inv_rms);
    ref_gemv(sums, weight.dense, s->magnitude, weight.bias, 2 * half, v->size->n_embd, s->inv_rms);
    for (uint32_t i = 0; i < half; i++) {
        y[i].magnitude = sums[i].magnitude;
        y[half + i].magnitude = sums[half + i].magnitude;
        y[i] = ref_gemv_glu(y[i], y[half + i], false);
    }
    is_good = is_good && gi_gemv_glu_takes_parts(&run->recorder, &weight.weight) &&
              (gi_op_gemv_glu(&run->recorder, "ffn_act", &weight.weight, n_ff, GI_ACTIVATION_SILU,
                              true, &s->stream, act, NULL, &err) ||
               kt_fail(run, "%s", err.message)) &&
              kt_seal(run) && kt_replay(run, 0, 1) && compare(run, "act", &act, 0, y, n_ff) &&
              kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(y);
    free(sums);
    kt_weight_finish(&weight);
    return is_good;
}

static bool run_glu_parts(struct kt_run *run, size_t index)
{
    const struct variant v = get_variant(index);
    struct stream stream;
    const bool is_good = stream_init(&stream, run, v.size->n_embd, v.size->n_parts) &&
                         setenv("GLINFER_GEMV", v.shape, 1) == 0 && check_glu(run, &v, &stream);
    stream_finish(&stream);
    return is_good;
}

const struct kt_suite kt_glu_parts = {"glu_parts", COUNT(sizes) * COUNT(types) * COUNT(shapes),
                                      name_parts, run_glu_parts};

// A tuned form that takes no parts is passed over for one that does.
static bool run_tuned(struct kt_run *run, size_t index)
{
    const uint32_t n_rows = 64, n_cols = 96;
    const struct kt_weight_params params = {
        .type = GI_GGML_TYPE_Q4_0, .n_rows = n_rows, .n_cols = n_cols};
    const struct gi_tuning_key key = {
        .kernel = "gemv_glu", .type = GI_GGML_TYPE_Q4_0, .n_rows = n_rows, .n_cols = n_cols};
    struct gi_recorder recorder = run->recorder;
    struct kt_weight weight;
    struct gi_tuning *tuning = gi_tuning_create(NULL);
    (void)index;
    unsetenv("GLINFER_GEMV");
    recorder.is_half = false;
    bool is_good = kt_weight_init(&weight, run, &params) && tuning &&
                   gi_tuning_set(tuning, &key, "row:64:1:0", NULL);
    if (is_good) {
        const bool takes = gi_gemv_glu_takes_parts(&recorder, &weight.weight);
        recorder.tuning = tuning;
        is_good = gi_gemv_glu_takes_parts(&recorder, &weight.weight) == takes ||
                  kt_fail(run, "tuning decides whether x may be in parts");
    }
    gi_tuning_destroy(tuning);
    kt_weight_finish(&weight);
    return is_good;
}

static void name_tuned(size_t index, char *text, size_t size)
{
    (void)index;
    snprintf(text, size, "a form without parts");
}

const struct kt_suite kt_parts_tuned = {"parts_tuned", 1, name_tuned, run_tuned};

// What follows the network takes them once more, and leaves a residual in one.
static bool check_residual(struct kt_run *run, const struct variant *v, struct stream *s)
{
    const uint32_t n_embd = v->size->n_embd, n_cols = (v->size->n_rows + 31) / 32 * 32;
    const struct kt_weight_params params = {
        .type = v->type, .n_rows = n_embd, .n_cols = n_cols, .has_gamma = true};
    struct glinfer_error err;
    struct kt_weight weight;
    bool is_good = kt_weight_init(&weight, run, &params);
    float *act = kt_alloc(n_cols, sizeof(*act));
    kt_fill(run, act, n_cols, -1, 1);
    struct gi_range range = kt_range(run, "act", act, n_cols * sizeof(*act));
    struct ref_value *y = kt_alloc(weight.weight.n_rows, sizeof(*y));
    ref_gemv(y, weight.dense, act, weight.bias, n_embd, n_cols, 1);
    for (uint32_t i = 0; i < n_embd; i++) {
        y[i].value += s->residual[i];
        y[i].magnitude += v->size->n_parts + 1;
    }
    is_good =
        is_good &&
        (gi_op_gemv_residual(&run->recorder, "ffn_down", &weight.weight, range, 0, false, 1,
                             &s->stream, &err) ||
         kt_fail(run, "%s", err.message)) &&
        (s->stream.n_parts == 0 || kt_fail(run, "parts are left")) && kt_seal(run) &&
        kt_replay(run, 0, 1) &&
        compare(run, "residual", &s->stream.range, s->stream.residual * sizeof(float), y, n_embd) &&
        kt_bench(run, 0, 1, kt_weight_bytes(&weight.weight));
    free(y);
    free(act);
    kt_weight_finish(&weight);
    return is_good;
}

static bool run_residual_parts(struct kt_run *run, size_t index)
{
    const struct variant v = get_variant(index);
    struct stream stream;
    const bool is_good = stream_init(&stream, run, v.size->n_embd, v.size->n_parts) &&
                         setenv("GLINFER_GEMV", v.shape, 1) == 0 &&
                         check_residual(run, &v, &stream);
    stream_finish(&stream);
    return is_good;
}

const struct kt_suite kt_residual_parts = {
    "residual_parts", COUNT(sizes) * COUNT(types) * COUNT(shapes), name_parts, run_residual_parts};

//-- who leaves them -------------------------------------------------------------------------------

struct out_case {
    uint32_t n_head, n_kv_head, head_dim, n_embd;
    uint32_t n_past, window;
    float softcap, scale;
    enum gi_cache_type cache;
    uint32_t type;
    bool has_bias, has_gamma;
};

#define N_CTX 300

static const struct out_case out_cases[] = {
    {9,  3, 64,  576,  0,   0,  0, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q4_0, false, true },
    {9,  3, 64,  576,  1,   0,  0, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q4_0, false, true },
    {9,  3, 64,  576,  63,  0,  0, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q4_1, false, true },
    {9,  3, 64,  576,  127, 0,  0, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q4_0, false, true },
    {9,  3, 64,  576,  191, 0,  0, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q4_0, false, true },
    {9,  3, 64,  576,  191, 0,  0, 0.25f, GI_CACHE_F32, GI_GGML_TYPE_Q8_0, true,  true },
    {14, 2, 64,  896,  100, 0,  0, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q8_0, true,  false},
    {16, 4, 64,  960,  70,  0,  0, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q4_K, false, true },
    {20, 5, 64,  960,  70,  0,  0, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q8_0, false, true },
    {16, 8, 128, 1024, 130, 0,  0, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q4_0, false, true },
    {4,  1, 256, 640,  90,  50, 5, 1,     GI_CACHE_F16, GI_GGML_TYPE_Q4_0, false, true },
    {3,  1, 32,  40,   299, 0,  0, -2,    GI_CACHE_F32, GI_GGML_TYPE_F16,  true,  true },
    {2,  2, 128, 48,   65,  65, 0, 1,     GI_CACHE_F32, GI_GGML_TYPE_F32,  false, false},
};

static void name_out(size_t index, char *text, size_t size)
{
    const struct out_case *c = &out_cases[index];
    snprintf(text, size,
             "%s %u, %u/%u heads of %u at %u, cache %s, window %u, cap %g, scale %g%s%s",
             gi_ggml_type_find(c->type)->name, c->n_embd, c->n_head, c->n_kv_head, c->head_dim,
             c->n_past, c->cache == GI_CACHE_F32 ? "f32" : "f16", c->window, (double)c->softcap,
             (double)c->scale, c->has_bias ? " bias" : "", c->has_gamma ? " gamma" : "");
}

// A layer's range with a random q and cache, and their values.
struct layer {
    struct gi_kv_layer kv;
    float *q, *k, *v;
};

static void fill_rows(struct kt_run *run, float *values, uint32_t *words, size_t n,
                      enum gi_cache_type type)
{
    kt_fill(run, values, n, -1, 1);
    for (size_t i = 0; i < n; i++) {
        const uint32_t half = gi_float_to_half(values[i]);
        if (type == GI_CACHE_F32) {
            memcpy(&words[i], &values[i], sizeof(float));
        } else {
            words[i / 2] = i % 2 == 0 ? half : words[i / 2] | half << 16;
            values[i] = gi_half_to_float((uint16_t)half);
        }
    }
}

static void layer_init(struct layer *layer, struct kt_run *run, const struct out_case *c)
{
    const size_t size = (size_t)gi_kv_layer_layout(&layer->kv, c->n_head, c->n_kv_head, c->head_dim,
                                                   N_CTX, c->cache, c->cache);
    const size_t n_q = (size_t)c->n_head * c->head_dim;
    const size_t n = (size_t)c->n_kv_head * N_CTX * c->head_dim;
    uint32_t *words = kt_alloc(size, 1);
    layer->q = kt_alloc(n_q, sizeof(float));
    layer->k = kt_alloc(n, sizeof(float));
    layer->v = kt_alloc(n, sizeof(float));
    kt_fill(run, layer->q, n_q, -4, 4);
    memcpy(words, layer->q, n_q * sizeof(float));
    fill_rows(run, layer->k, words + layer->kv.k, n, c->cache);
    fill_rows(run, layer->v, words + layer->kv.v, n, c->cache);
    layer->kv.range = kt_range(run, "layer", words, size);
    free(words);
}

// out of all heads, and what each may be wrong by, in units of FLT_EPSILON.
static void attend(const struct layer *layer, const struct out_case *c, double scale, float *out,
                   float *slack)
{
    const size_t dim = c->head_dim, n_seen = c->n_past + 1;
    const size_t first = c->window > 0 && n_seen > c->window ? n_seen - c->window : 0;
    double values[256], magnitude[256];
    for (uint32_t h = 0; h < c->n_head; h++) {
        const size_t kv = ((size_t)h * c->n_kv_head / c->n_head * N_CTX + first) * dim;
        const struct ref_attention ref = {.q = layer->q + h * dim,
                                          .k = layer->k + kv,
                                          .v = layer->v + kv,
                                          .n_key = n_seen - first,
                                          .head_dim = dim,
                                          .scale = scale,
                                          .softcap = (double)c->softcap};
        const double score = ref_attention(&ref, values, magnitude);
        const double units = 2 * score * (4 + sqrt((double)dim)) + 16 + sqrt((double)ref.n_key);
        for (size_t i = 0; i < dim; i++) {
            out[h * dim + i] = (float)values[i];
            slack[h * dim + i] = (float)(magnitude[i] * units);
        }
    }
}

// The parts add up to y, each row within its bound; the last one is gamma.
static bool check_parts(struct kt_run *run, const struct gi_stream *stream, const double *y,
                        const double *bound, const float *gamma)
{
    const uint32_t n_parts = stream->n_parts, part_size = gi_stream_part_size(stream);
    const size_t n = (size_t)(n_parts + 1) * part_size;
    float *parts = kt_alloc(n, sizeof(*parts));
    bool is_good =
        kt_read(run, &stream->range, stream->parts * sizeof(float), parts, n * sizeof(*parts));
    for (uint32_t i = 0; is_good && i < stream->n_embd; i++) {
        double sum = 0;
        for (uint32_t p = 0; p < n_parts; p++) {
            sum += (double)parts[p * part_size + i];
        }
        is_good =
            fabs(sum - y[i]) <= bound[i] ||
            kt_fail(run, "parts[%u] add up to %.9g, want %.9g +- %.3g", i, sum, y[i], bound[i]);
        is_good = is_good && (parts[n_parts * part_size + i] == gamma[i] ||
                              kt_fail(run, "gamma[%u] is not that of the weight", i));
    }
    free(parts);
    return is_good;
}

static bool check_out(struct kt_run *run, const struct out_case *c, const struct kt_weight *weight,
                      struct stream *s, const struct layer *layer)
{
    const size_t n_cols = (size_t)c->n_head * c->head_dim, n = c->n_embd;
    const struct gi_score_rule rule = {1.0f / sqrtf((float)c->head_dim), c->softcap, c->window};
    struct glinfer_error err;
    float *out = kt_alloc(n_cols, sizeof(*out)), *slack = kt_alloc(n_cols, sizeof(*slack));
    float *zero = kt_alloc(n, sizeof(*zero));
    struct ref_value *y = kt_alloc(n, sizeof(*y)), *errors = kt_alloc(n, sizeof(*errors));
    double *want = kt_alloc(n, sizeof(*want)), *bound = kt_alloc(n, sizeof(*bound));
    attend(layer, c, (double)rule.scale, out, slack);
    ref_gemv(y, weight->dense, out, weight->bias, n, n_cols, 1);
    memset(zero, 0, n * sizeof(*zero));
    ref_gemv(errors, weight->dense, slack, zero, n, n_cols, 1);
    for (size_t i = 0; i < n; i++) {
        want[i] = (double)c->scale * y[i].value;
        bound[i] = fabs((double)c->scale) * (double)FLT_EPSILON *
                   (ROUNDINGS * y[i].magnitude + errors[i].magnitude);
    }
    bool is_good = (gi_op_attention_out(&run->recorder, "attention_out", &layer->kv, &rule,
                                        &weight->weight, c->scale, &s->stream, &err) ||
                    kt_fail(run, "%s", err.message)) &&
                   kt_seal(run) && kt_replay(run, c->n_past, 1) &&
                   check_parts(run, &s->stream, want, bound, weight->gamma) &&
                   kt_bench(run, c->n_past, 1, kt_weight_bytes(&weight->weight));
    free(out);
    free(slack);
    free(zero);
    free(y);
    free(errors);
    free(want);
    free(bound);
    return is_good;
}

// A device without subgroups of a known size has nothing to test.
static bool run_out(struct kt_run *run, size_t index)
{
    const struct out_case *c = &out_cases[index];
    const struct kt_weight_params params = {.type = c->type,
                                            .n_rows = c->n_embd,
                                            .n_cols = c->n_head * c->head_dim,
                                            .has_bias = c->has_bias,
                                            .has_gamma = c->has_gamma};
    struct kt_weight weight;
    struct layer layer;
    struct stream stream;
    layer_init(&layer, run, c);
    bool is_good = stream_init(&stream, run, c->n_embd, 0) & kt_weight_init(&weight, run, &params);
    if (is_good && gi_attention_out_suits(&run->recorder, &layer.kv, &weight.weight)) {
        is_good = check_out(run, c, &weight, &stream, &layer);
    }
    kt_weight_finish(&weight);
    stream_finish(&stream);
    free(layer.q);
    free(layer.k);
    free(layer.v);
    return is_good;
}

const struct kt_suite kt_attention_out = {"attention_out", COUNT(out_cases), name_out, run_out};
