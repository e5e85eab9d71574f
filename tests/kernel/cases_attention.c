// Rotation into the cache and attention, against their formulas in double; decode against batch.
#include "kernel_test.h"
#include "ops/attention.h"
#include "ops/batch.h"
#include "tests/ref/ref_batch.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROPE_RATE    10000.0

static uint32_t pad32(uint32_t n)
{
    return (n + 31) / 32 * 32;
}

//-- a layer ---------------------------------------------------------------------------------------

struct shape {
    uint32_t n_head, n_kv_head, head_dim, n_ctx;
    enum gi_cache_type type_k, type_v;
};

#define F16 GI_CACHE_F16
#define F32 GI_CACHE_F32
#define Q8  GI_CACHE_Q8_0

static const char *const cache_names[] = {"f16", "f32", "q8_0"};

// A layer's cache in a range, with the values that k and v hold: (n_kv_head, n_ctx, head_dim) each.
struct layer {
    struct gi_kv_layer kv;
    float *k, *v;
    uint32_t *words; // of the whole range
    uint64_t size;
};

static float round_half(float value)
{
    return gi_half_to_float(gi_float_to_half(value));
}

// Scale of n values, as a q8_0 block has it.
static float block_scale(const float *values, size_t n)
{
    float largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmaxf(largest, fabsf(values[i]));
    }
    return round_half(largest / 127);
}

static void fill_row_q8(float *values, uint32_t head_dim, uint8_t *bytes, uint16_t *scales)
{
    for (uint32_t begin = 0; begin < head_dim; begin += 32) {
        const uint32_t n = head_dim - begin < 32 ? head_dim - begin : 32;
        const float scale = block_scale(values + begin, n);
        for (uint32_t i = begin; i < begin + n; i++) {
            const float byte = fmaxf(fminf(roundf(values[i] / scale), 127), -127);
            bytes[i] = (uint8_t)(int8_t)byte;
            values[i] = byte * scale;
        }
        scales[begin / 32] = gi_float_to_half(scale);
    }
}

// Fills a cache with values, and rounds these to what it holds. scale: where those of q8_0 lie.
static void fill_cache(struct kt_run *run, float *values, uint32_t n_row, uint32_t head_dim,
                       enum gi_cache_type type, uint32_t *words, uint32_t *scale)
{
    const size_t n = (size_t)n_row * head_dim;
    kt_fill(run, values, n, -1, 1);
    for (size_t row = 0; type == Q8 && row < n_row; row++) {
        fill_row_q8(values + row * head_dim, head_dim,
                    (uint8_t *)words + row * ((head_dim + 15) / 16 * 16),
                    (uint16_t *)scale + row * ((head_dim + 63) / 64 * 2));
    }
    for (size_t i = 0; type != Q8 && i < n; i++) {
        if (type == F32) {
            memcpy(&words[i], &values[i], sizeof(float));
        } else {
            uint32_t half = gi_float_to_half(values[i]);
            words[i / 2] = i % 2 == 0 ? half : words[i / 2] | half << 16;
            values[i] = round_half(values[i]);
        }
    }
}

// Random k and v everywhere, q zero.
static void layer_init(struct layer *layer, struct kt_run *run, const struct shape *shape)
{
    size_t n = (size_t)shape->n_kv_head * shape->n_ctx * shape->head_dim;
    memset(layer, 0, sizeof(*layer));
    layer->size = gi_kv_layer_layout(&layer->kv, shape->n_head, shape->n_kv_head, shape->head_dim,
                                     shape->n_ctx, shape->type_k, shape->type_v);
    layer->k = kt_alloc(n, sizeof(float));
    layer->v = kt_alloc(n, sizeof(float));
    layer->words = kt_alloc((size_t)layer->size, 1);
    const uint32_t n_row = shape->n_kv_head * shape->n_ctx, dim = shape->head_dim;
    fill_cache(run, layer->k, n_row, dim, shape->type_k, layer->words + layer->kv.k,
               layer->words + layer->kv.k_scale);
    fill_cache(run, layer->v, n_row, dim, shape->type_v, layer->words + layer->kv.v,
               layer->words + layer->kv.v_scale);
    layer->kv.range = kt_range(run, "layer", layer->words, (size_t)layer->size);
}

static void layer_finish(struct layer *layer)
{
    free(layer->k);
    free(layer->v);
    free(layer->words);
}

//-- rope_kv ---------------------------------------------------------------------------------------

struct rope_case {
    struct shape shape;
    uint32_t n_rot, n_tokens, n_past;
};

static const struct rope_case rope_cases[] = {
    {{9, 3, 64, 64, F16, F16},    64,  1,   0   },
    {{9, 3, 64, 64, F16, F16},    64,  2,   1   },
    {{4, 4, 80, 128, F32, F16},   32,  7,   63  },
    {{8, 1, 96, 128, F16, F32},   96,  31,  64  },
    {{14, 2, 128, 600, F32, F32}, 128, 32,  500 },
    {{8, 1, 256, 2100, F16, F16}, 64,  33,  2000},
    {{9, 3, 64, 600, F16, F16},   64,  512, 0   },
    {{3, 1, 8, 200, F32, F16},    2,   128, 64  },
    {{9, 3, 64, 64, Q8, Q8},      64,  1,   5   },
    {{9, 3, 64, 600, Q8, F16},    64,  130, 64  },
    {{4, 4, 80, 128, Q8, Q8},     32,  7,   63  },
    {{8, 1, 96, 128, F32, Q8},    96,  31,  64  },
    {{14, 2, 128, 600, Q8, Q8},   128, 3,   500 },
    {{8, 1, 256, 300, Q8, Q8},    64,  33,  200 },
    {{3, 1, 8, 200, Q8, Q8},      2,   17,  64  },
};

static void rope_name(size_t index, char *text, size_t size)
{
    const struct rope_case *c = &rope_cases[index];
    snprintf(text, size, "%u/%u heads of %u, rotations of %u, %u tokens at %u, k %s v %s",
             c->shape.n_head, c->shape.n_kv_head, c->shape.head_dim, c->n_rot, c->n_tokens,
             c->n_past, cache_names[c->shape.type_k], cache_names[c->shape.type_v]);
}

// Random q, k and v of a batch: natural (pair order) and as the stacked projection lays them out.
struct qkv {
    struct gi_qkv_layout layout;
    uint32_t width; // of the natural row: q, k, v after each other
    float *natural, *stacked;
    struct gi_rows rows;
};

static void stack_section(const float *natural, uint32_t n, float *stacked)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pair = i / 2;
        stacked[pair / 8 * 16 + i % 2 * 8 + pair % 8] = natural[i];
    }
}

static void qkv_init(struct qkv *qkv, struct kt_run *run, const struct shape *shape,
                     uint32_t n_tokens)
{
    uint32_t n_q = shape->n_head * shape->head_dim, n_kv = shape->n_kv_head * shape->head_dim;
    gi_qkv_layout_init(&qkv->layout, shape->n_head, shape->n_kv_head, shape->head_dim);
    qkv->width = n_q + 2 * n_kv;
    qkv->rows.stride = pad32(qkv->layout.n_rows);
    qkv->natural = kt_alloc((size_t)n_tokens * qkv->width, sizeof(float));
    qkv->stacked = kt_alloc((size_t)n_tokens * qkv->rows.stride, sizeof(float));
    kt_fill(run, qkv->natural, (size_t)n_tokens * qkv->width, -1, 1);
    for (size_t m = 0; m < n_tokens; m++) {
        const float *natural = qkv->natural + m * qkv->width;
        float *stacked = qkv->stacked + m * qkv->rows.stride;
        stack_section(natural, n_q, stacked + qkv->layout.q_begin);
        stack_section(natural + n_q, n_kv, stacked + qkv->layout.k_begin);
        stack_section(natural + n_q + n_kv, n_kv, stacked + qkv->layout.v_begin);
    }
    qkv->rows.range =
        kt_range(run, "qkv", qkv->stacked, (size_t)n_tokens * qkv->rows.stride * sizeof(float));
}

static void qkv_finish(struct qkv *qkv)
{
    free(qkv->natural);
    free(qkv->stacked);
}

static struct gi_vectors make_table(struct kt_run *run, uint32_t n_rot, uint32_t n_ctx)
{
    const uint32_t rope = 4;
    size_t n = rope + (size_t)n_rot * n_ctx;
    float *values = kt_alloc(n, sizeof(float));
    for (uint32_t position = 0; position < n_ctx; position++) {
        ref_rope_table(n_rot, ROPE_RATE, position, values + rope + (size_t)position * n_rot);
    }
    struct gi_vectors vectors = {kt_range(run, "vectors", values, n * sizeof(float)), rope};
    free(values);
    return vectors;
}

// A head as the formula has it, with the bound of its f32 result.
static void make_head(const float *head, const struct rope_case *c, bool is_turned,
                      uint32_t position, double *want, double *bound)
{
    ref_rope(head, c->shape.head_dim, is_turned ? c->n_rot : 0, ROPE_RATE, position, want, bound);
    for (uint32_t i = 0; i < c->shape.head_dim; i++) {
        bound[i] *= 4 * (double)FLT_EPSILON;
    }
}

// A row of a q8_0 cache: scales as the formula has them but for their rounding to f16, and values within
// half a step.
static bool check_row_q8(struct kt_run *run, const char *what, const struct gi_range *range,
                         uint64_t data, uint64_t scale, const double *want, uint32_t n)
{
    int8_t bytes[256];
    uint16_t scales[8];
    bool is_good = kt_read(run, range, data, bytes, (n + 3) / 4 * 4) &&
                   kt_read(run, range, scale, scales, (n + 63) / 64 * 4);
    for (uint32_t i = 0; is_good && i < n; i++) {
        const uint32_t begin = i / 32 * 32, end = begin + 32 < n ? begin + 32 : n;
        const double step = (double)gi_half_to_float(scales[i / 32]);
        double largest = 0;
        for (uint32_t j = begin; j < end; j++) {
            largest = fmax(largest, fabs(want[j]));
        }
        if (!(fabs(step - largest / 127) <= 0x1p-10 * step) ||
            !(fabs(bytes[i] * step - want[i]) <= 0.501 * step)) {
            is_good = kt_fail(run, "%s[%u] is %d x %g, want %g of at most %g", what, i, bytes[i],
                              step, want[i], largest);
        }
    }
    return is_good;
}

// Holds a head of k or v at a row of the cache.
static bool check_row(struct kt_run *run, bool is_k, const struct gi_kv_layer *kv, size_t row,
                      const double *want, double *bound)
{
    const char *what = is_k ? "k" : "v";
    const enum gi_cache_type type = is_k ? kv->type_k : kv->type_v;
    const uint32_t n = kv->head_dim;
    const uint64_t data = (is_k ? kv->k : kv->v) * sizeof(uint32_t);
    if (type == Q8) {
        const uint64_t scale = (is_k ? kv->k_scale : kv->v_scale) * sizeof(uint32_t);
        return check_row_q8(run, what, &kv->range, data + row * ((n + 15) / 16 * 16),
                            scale + row * ((n + 63) / 64 * 4), want, n);
    }
    if (type == F32) {
        return kt_compare_f32(run, what, &kv->range, data + row * n * 4, want, bound, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        bound[i] += 0x1p-11 * fabs(want[i]) + 0x1p-25;
    }
    return kt_compare_f16(run, what, &kv->range, data + row * n * 2, want, bound, n);
}

static bool check_turned(struct kt_run *run, const struct rope_case *c, const struct qkv *qkv,
                         const struct layer *layer, const struct gi_rows *q, uint32_t m)
{
    const struct shape *s = &c->shape;
    uint32_t dim = s->head_dim, position = c->n_past + m;
    const float *head = qkv->natural + (size_t)m * qkv->width;
    bool is_good = true;
    double want[256], bound[256];
    for (uint32_t h = 0; is_good && h < s->n_head; h++, head += dim) {
        size_t offset = ((size_t)m * q->stride + (size_t)h * dim) * sizeof(float);
        make_head(head, c, true, position, want, bound);
        is_good = kt_compare_f32(run, "q", &q->range, offset, want, bound, dim);
    }
    for (uint32_t i = 0; is_good && i < 2 * s->n_kv_head; i++, head += dim) {
        bool is_k = i < s->n_kv_head;
        make_head(head, c, is_k, position, want, bound);
        is_good = check_row(run, is_k, &layer->kv, (size_t)(i % s->n_kv_head) * s->n_ctx + position,
                            want, bound);
    }
    return is_good;
}

// What lies outside the positions of the batch is as it was: rows of n words from begin on.
static bool check_rows(struct kt_run *run, const struct rope_case *c, const struct layer *layer,
                       const uint32_t *words, uint32_t begin, uint32_t n)
{
    const struct shape *s = &c->shape;
    for (uint32_t row = 0; row < s->n_kv_head * s->n_ctx; row++) {
        const uint32_t position = row % s->n_ctx;
        const size_t at = begin + (size_t)row * n;
        bool is_own = position >= c->n_past && position < c->n_past + c->n_tokens;
        if (!is_own && memcmp(words + at, layer->words + at, n * sizeof(*words)) != 0) {
            return kt_fail(run, "position %u was overwritten", position);
        }
    }
    return true;
}

static bool check_untouched(struct kt_run *run, const struct rope_case *c,
                            const struct layer *layer)
{
    const struct gi_kv_layer *kv = &layer->kv;
    const uint32_t n_scale[] = {kv->type_k == Q8 ? (kv->head_dim + 63) / 64 : 0,
                                kv->type_v == Q8 ? (kv->head_dim + 63) / 64 : 0};
    const uint32_t n[] = {gi_cache_row_size(kv->type_k, kv->head_dim) / 4 - n_scale[0],
                          gi_cache_row_size(kv->type_v, kv->head_dim) / 4 - n_scale[1]};
    uint32_t *words = kt_alloc((size_t)layer->size, 1);
    bool is_good = kt_read(run, &kv->range, 0, words, (size_t)layer->size) &&
                   check_rows(run, c, layer, words, kv->k, n[0]) &&
                   check_rows(run, c, layer, words, kv->v, n[1]) &&
                   check_rows(run, c, layer, words, kv->k_scale, n_scale[0]) &&
                   check_rows(run, c, layer, words, kv->v_scale, n_scale[1]);
    free(words);
    return is_good;
}

static bool run_rope_kv(struct kt_run *run, size_t index)
{
    const struct rope_case *c = &rope_cases[index];
    struct glinfer_error err;
    struct layer layer;
    struct qkv qkv;
    layer_init(&layer, run, &c->shape);
    qkv_init(&qkv, run, &c->shape, c->n_tokens);
    struct gi_vectors vectors = make_table(run, c->n_rot, c->shape.n_ctx);
    uint32_t stride = pad32(c->shape.n_head * c->shape.head_dim);
    struct gi_rows q = {kt_range(run, "q", NULL, (size_t)c->n_tokens * stride * sizeof(float)),
                        stride, false};
    bool is_good = !run->has_failed &&
                   (gi_op_rope_kv(&run->recorder, "rope", &qkv.layout, &qkv.rows, &vectors,
                                  c->n_rot, &layer.kv, &q, &err) ||
                    kt_fail(run, "%s", err.message)) &&
                   kt_seal(run) && kt_replay(run, c->n_past, c->n_tokens) &&
                   check_untouched(run, c, &layer) &&
                   kt_bench(run, c->n_past, c->n_tokens, (uint64_t)c->n_tokens * qkv.width * 8);
    for (uint32_t m = 0; is_good && m < c->n_tokens; m++) {
        is_good = check_turned(run, c, &qkv, &layer, &q, m);
    }
    layer_finish(&layer);
    qkv_finish(&qkv);
    return is_good;
}

const struct kt_suite kt_rope_kv = {"rope_kv", COUNT(rope_cases), rope_name, run_rope_kv};

//-- norm_rope_kv --------------------------------------------------------------------------------

#define NORM_EPS 1e-5f

// Heads of q and k with a norm each, or with one over all of them.
static bool is_whole(size_t index)
{
    return index % 2 == 1;
}

static void norm_rope_name(size_t index, char *text, size_t size)
{
    rope_name(index / 2, text, size);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", is_whole(index) ? ", one norm" : "");
}

// Norms n elements in runs of width, which gamma has, and rounds them as an f32 result is.
static void norm_section(float *section, uint32_t n, uint32_t width, const float *gamma)
{
    double *normed = kt_alloc(width, sizeof(double));
    for (uint32_t begin = 0; begin < n; begin += width) {
        ref_rmsnorm(section + begin, gamma, width, (double)NORM_EPS, normed);
        for (uint32_t i = 0; i < width; i++) {
            section[begin + i] = (float)normed[i];
        }
    }
    free(normed);
}

static void norm_qkv(struct qkv *qkv, const struct rope_case *c, const struct gi_head_norm *norm,
                     const float *values)
{
    uint32_t n_q = c->shape.n_head * c->shape.head_dim;
    uint32_t n_k = c->shape.n_kv_head * c->shape.head_dim;
    for (size_t m = 0; m < c->n_tokens; m++) {
        float *row = qkv->natural + m * qkv->width;
        norm_section(row, n_q, norm->q_width, values + norm->q_gamma);
        norm_section(row + n_q, n_k, norm->k_width, values + norm->k_gamma);
    }
}

// The table of rotations, then the weights of both norms.
static struct gi_vectors make_normed_table(struct kt_run *run, const struct rope_case *c,
                                           bool whole, struct gi_head_norm *norm, float **values)
{
    uint32_t dim = c->shape.head_dim, n_table = c->n_rot * c->shape.n_ctx;
    *norm = (struct gi_head_norm){.q_gamma = n_table,
                                  .q_width = whole ? c->shape.n_head * dim : dim,
                                  .k_width = whole ? c->shape.n_kv_head * dim : dim,
                                  .eps = NORM_EPS};
    norm->k_gamma = norm->q_gamma + norm->q_width;
    size_t n = norm->k_gamma + norm->k_width;
    *values = kt_alloc(n, sizeof(float));
    for (uint32_t position = 0; position < c->shape.n_ctx; position++) {
        ref_rope_table(c->n_rot, ROPE_RATE, position, *values + (size_t)position * c->n_rot);
    }
    kt_fill(run, *values + n_table, n - n_table, 0.5f, 2);
    return (struct gi_vectors){kt_range(run, "vectors", *values, n * sizeof(float)), 0};
}

static bool run_norm_rope_kv(struct kt_run *run, size_t index)
{
    const struct rope_case *c = &rope_cases[index / 2];
    struct glinfer_error err;
    struct layer layer;
    struct qkv qkv;
    struct gi_head_norm norm;
    float *values;
    layer_init(&layer, run, &c->shape);
    qkv_init(&qkv, run, &c->shape, c->n_tokens);
    struct gi_vectors vectors = make_normed_table(run, c, is_whole(index), &norm, &values);
    const struct gi_rope rope = {.table = 0, .n_rot = c->n_rot};
    uint32_t stride = pad32(c->shape.n_head * c->shape.head_dim);
    struct gi_rows q = {kt_range(run, "q", NULL, (size_t)c->n_tokens * stride * sizeof(float)),
                        stride, false};
    bool is_good = !run->has_failed &&
                   (gi_op_norm_rope_kv(&run->recorder, "norm_rope", &qkv.layout, &qkv.rows,
                                       &vectors, &norm, &rope, &layer.kv, &q, &err) ||
                    kt_fail(run, "%s", err.message)) &&
                   kt_seal(run) && kt_replay(run, c->n_past, c->n_tokens) &&
                   check_untouched(run, c, &layer);
    norm_qkv(&qkv, c, &norm, values);
    for (uint32_t m = 0; is_good && m < c->n_tokens; m++) {
        is_good = check_turned(run, c, &qkv, &layer, &q, m);
    }
    free(values);
    layer_finish(&layer);
    qkv_finish(&qkv);
    return is_good;
}

const struct kt_suite kt_norm_rope_kv = {"norm_rope_kv", 2 * COUNT(rope_cases), norm_rope_name,
                                         run_norm_rope_kv};

//-- attention -------------------------------------------------------------------------------------

struct attention_case {
    struct shape shape;
    uint32_t n_tokens, n_past;
    uint32_t window; // 0: none
    float softcap;   // 0: none
};

// A case on its way: q rows of the batch, and the reference of one of its tokens.
struct attention {
    const struct attention_case *c;
    struct layer layer;
    struct gi_score_rule rule;
    uint32_t width; // n_head * head_dim
    float *q;       // (n_tokens, width)
    double *want, *bound;
};

static void attention_init(struct attention *a, struct kt_run *run, const struct attention_case *c)
{
    *a = (struct attention){
        .c = c,
        .rule = {1.0f / sqrtf((float)c->shape.head_dim), c->softcap, c->window},
        .width = c->shape.n_head * c->shape.head_dim
    };
    layer_init(&a->layer, run, &c->shape);
    size_t n = (size_t)c->n_tokens * a->width;
    a->q = kt_alloc(n, sizeof(float));
    a->want = kt_alloc(a->width, sizeof(double));
    a->bound = kt_alloc(a->width, sizeof(double));
    kt_fill(run, a->q, n, -4, 4);
}

static void attention_finish(struct attention *a)
{
    layer_finish(&a->layer);
    free(a->q);
    free(a->want);
    free(a->bound);
}

// The first key that token m sees.
static size_t first_seen(const struct attention_case *c, uint32_t m)
{
    const uint32_t n_seen = c->n_past + m + 1;
    return c->window > 0 && n_seen > c->window ? n_seen - c->window : 0;
}

// Fills want and bound for token m. An error d of a score is one of d relative in a weight; scores
// are sums of head_dim products, results sums over the keys.
static void make_want(struct attention *a, uint32_t m)
{
    const struct shape *s = &a->c->shape;
    const size_t first = first_seen(a->c, m);
    for (uint32_t h = 0; h < s->n_head; h++) {
        size_t kv = (size_t)h * s->n_kv_head / s->n_head * s->n_ctx * s->head_dim;
        size_t at = (size_t)h * s->head_dim;
        const struct ref_attention ref = {
            .q = a->q + (size_t)m * a->width + at,
            .k = a->layer.k + kv + first * s->head_dim,
            .v = a->layer.v + kv + first * s->head_dim,
            .n_key = a->c->n_past + m + 1 - first,
            .head_dim = s->head_dim,
            .scale = (double)a->rule.scale,
            .softcap = (double)a->rule.softcap,
        };
        double score = ref_attention(&ref, a->want + at, a->bound + at);
        double slack = 2 * score * (4 + sqrt((double)s->head_dim)) + 16 + sqrt((double)ref.n_key);
        for (uint32_t i = 0; i < s->head_dim; i++) {
            a->bound[at + i] *= slack * (double)FLT_EPSILON;
        }
    }
}

// No result lies outside what the values of the seen keys span.
static bool check_hull(struct kt_run *run, const struct attention *a, uint32_t m, const float *out)
{
    const struct shape *s = &a->c->shape;
    const size_t first = first_seen(a->c, m);
    for (uint32_t i = 0; i < a->width; i++) {
        size_t kv_head = (size_t)(i / s->head_dim) * s->n_kv_head / s->n_head;
        const float *v = a->layer.v + kv_head * s->n_ctx * s->head_dim + i % s->head_dim;
        float low = v[first * s->head_dim], high = low;
        for (size_t j = first + 1; j <= a->c->n_past + m; j++) {
            low = fminf(low, v[j * s->head_dim]);
            high = fmaxf(high, v[j * s->head_dim]);
        }
        float slack = 1e-6f * fmaxf(fabsf(low), fabsf(high));
        if (!(out[i] >= low - slack && out[i] <= high + slack)) {
            return kt_fail(run, "out[%u] of token %u is %.9g, outside [%.9g, %.9g]", i, m,
                           (double)out[i], (double)low, (double)high);
        }
    }
    return true;
}

static bool check_token(struct kt_run *run, struct attention *a, uint32_t m,
                        const struct gi_range *range, size_t offset)
{
    float *out = kt_alloc(a->width, sizeof(float));
    make_want(a, m);
    bool is_good = kt_compare_f32(run, "out", range, offset, a->want, a->bound, a->width) &&
                   kt_read(run, range, offset, out, a->width * sizeof(float)) &&
                   check_hull(run, a, m, out);
    free(out);
    return is_good;
}

static void attention_text(const struct attention_case *c, char *text, size_t size)
{
    snprintf(text, size, "%u/%u heads of %u, %u tokens at %u of %u, k %s v %s, window %u, cap %g",
             c->shape.n_head, c->shape.n_kv_head, c->shape.head_dim, c->n_tokens, c->n_past,
             c->shape.n_ctx, cache_names[c->shape.type_k], cache_names[c->shape.type_v], c->window,
             (double)c->softcap);
}

// n_tokens is the number of steps in a row.
static const struct attention_case attention_cases[] = {
    {{9, 3, 64, 64, F16, F16},     1, 0,    0,   0 },
    {{9, 3, 64, 64, F16, F16},     3, 1,    0,   0 },
    {{4, 4, 80, 129, F32, F16},    2, 63,   0,   0 },
    {{8, 1, 96, 200, F16, F32},    2, 64,   0,   0 },
    {{9, 3, 64, 512, F32, F32},    3, 127,  0,   0 },
    {{9, 3, 64, 512, F16, F16},    3, 500,  0,   0 },
    {{14, 2, 128, 2200, F16, F16}, 2, 2000, 0,   0 },
    {{8, 1, 256, 2200, F32, F16},  2, 2000, 0,   0 },
    {{3, 1, 8, 600, F16, F16},     2, 400,  0,   0 },
    {{9, 3, 64, 2200, F16, F16},   2, 2000, 0,   0 },
    {{9, 3, 64, 8192, F16, F16},   1, 8191, 0,   0 },
    {{9, 3, 64, 512, F16, F16},    3, 255,  100, 0 },
    {{4, 1, 64, 1024, F16, F16},   3, 900,  300, 5 },
    {{8, 1, 256, 600, F32, F32},   2, 511,  512, 20},
    {{4, 4, 80, 129, F32, F16},    2, 63,   0,   2 },
    {{32, 8, 64, 2200, F16, F16},  2, 1023, 0,   0 },
    {{7, 1, 128, 700, F16, F32},   2, 520,  700, 0 },
    {{9, 3, 64, 512, Q8, Q8},      3, 500,  0,   0 },
    {{4, 4, 80, 129, Q8, Q8},      2, 63,   0,   2 },
    {{8, 1, 96, 200, Q8, F16},     2, 64,   0,   0 },
    {{14, 2, 128, 700, Q8, Q8},    2, 600,  100, 0 },
    {{8, 1, 256, 600, F16, Q8},    2, 511,  0,   0 },
    {{3, 1, 8, 600, Q8, Q8},       2, 400,  0,   0 },
    {{7, 1, 128, 300, F16, F16},   2, 100,  0,   0 },
    {{32, 8, 128, 300, F16, F16},  2, 255,  0,   0 },
    {{32, 8, 64, 2200, F16, F16},  1, 30,   0,   0 },
    {{32, 8, 64, 2200, F16, F16},  1, 127,  0,   0 },
    {{32, 8, 64, 2200, F16, F16},  1, 255,  0,   0 },
    {{32, 8, 64, 2200, F16, F16},  1, 2175, 0,   0 },
    {{16, 8, 128, 2200, F16, F16}, 1, 2047, 0,   0 },
    {{32, 8, 128, 2200, F16, F16}, 1, 30,   0,   0 },
    {{32, 8, 128, 2200, F16, F16}, 1, 127,  0,   0 },
    {{32, 8, 128, 2200, F16, F16}, 1, 255,  0,   0 },
    {{32, 8, 128, 2200, F16, F16}, 1, 500,  0,   0 },
    {{32, 8, 128, 2200, F16, F16}, 1, 2047, 0,   0 },
    {{32, 8, 128, 2200, F32, F16}, 1, 2047, 0,   0 },
    {{32, 8, 128, 8192, F16, F16}, 1, 8191, 0,   0 },
    {{32, 8, 64, 8192, F16, F16},  1, 8191, 500, 0 },
    {{32, 8, 64, 8192, F16, F16},  1, 8191, 0,   0 },
};

static void attention_name(size_t index, char *text, size_t size)
{
    attention_text(&attention_cases[index], text, size);
}

static struct gi_attention_scratch make_scratch(struct kt_run *run, const struct gi_kv_layer *layer)
{
    struct gi_attention_scratch scratch;
    size_t size = (size_t)gi_attention_scratch_layout(&scratch, layer);
    uint32_t zero[512] = {0};
    scratch.range = kt_range(run, "scratch", NULL, size);
    kt_write(run, &scratch.range, scratch.counter * sizeof(uint32_t), zero,
             4 * layer->n_head * sizeof(uint32_t));
    return scratch;
}

// One step: token m's q in front of the cache.
static bool run_step(struct kt_run *run, const struct attention *a, uint32_t m)
{
    size_t size = a->width * sizeof(float);
    return kt_write(run, &a->layer.kv.range, 0, a->q + (size_t)m * a->width, size) &&
           kt_replay(run, a->c->n_past + m, 1);
}

// Bytes that the layers of a bench take together, so that no cache holds them, and how many they are at most.
#define BENCH_BYTES  200000000u
#define BENCH_LAYERS 40

static bool record_attention(struct kt_run *run, const struct attention *a, struct gi_range range,
                             const struct gi_attention_scratch *scratch)
{
    struct glinfer_error err;
    struct gi_kv_layer kv = a->layer.kv;
    kv.range = range;
    return gi_op_attention(&run->recorder, "attention", &kv, &a->rule, scratch, &err) ||
           kt_fail(run, "%s", err.message);
}

// For a bench, other layers alike before the one whose result is checked.
static bool record_copies(struct kt_run *run, const struct attention *a,
                          const struct gi_attention_scratch *scratch)
{
    const uint32_t n = BENCH_BYTES / (uint32_t)a->layer.size;
    run->n_copy = !run->is_bench || n < 1 ? 1 : n > BENCH_LAYERS ? BENCH_LAYERS : n;
    for (uint32_t i = 1; i < run->n_copy; i++) {
        struct gi_range range = kt_range(run, "layer", a->layer.words, (size_t)a->layer.size);
        if (run->has_failed || !record_attention(run, a, range, scratch)) {
            return false;
        }
    }
    return true;
}

static bool check_attention(struct kt_run *run, size_t index)
{
    struct attention a;
    attention_init(&a, run, &attention_cases[index]);
    struct gi_attention_scratch scratch = make_scratch(run, &a.layer.kv);
    bool is_good = !run->has_failed && record_copies(run, &a, &scratch) &&
                   record_attention(run, &a, a.layer.kv.range, &scratch) && kt_seal(run);
    for (uint32_t m = 0; is_good && m < a.c->n_tokens; m++) {
        is_good = run_step(run, &a, m) && check_token(run, &a, m, &scratch.range, 0);
    }
    uint64_t n = (uint64_t)a.c->shape.n_kv_head * a.c->shape.head_dim * (a.c->n_past + 1);
    is_good = is_good && kt_bench(run, a.c->n_past, 1, n * 4 * run->n_copy);
    attention_finish(&a);
    return is_good;
}

const struct kt_suite kt_attention = {"attention", COUNT(attention_cases), attention_name,
                                      check_attention};

// As where groups stay: of two sizes, and with more and fewer of them.
static const struct {
    uint32_t group_size, n_groups;
} resident_groups[] = {
    {256, 132},
    {128, 20 },
    {256, 5  },
};

static void resident_name(size_t index, char *text, size_t size)
{
    const size_t i = index % COUNT(resident_groups);
    int n = snprintf(text, size, "%u groups of %u, ", resident_groups[i].n_groups,
                     resident_groups[i].group_size);
    attention_text(&attention_cases[index / COUNT(resident_groups)], text + n, size - (size_t)n);
}

static bool run_resident(struct kt_run *run, size_t index)
{
    run->recorder.group_size = resident_groups[index % COUNT(resident_groups)].group_size;
    run->recorder.n_groups = resident_groups[index % COUNT(resident_groups)].n_groups;
    return check_attention(run, index / COUNT(resident_groups));
}

const struct kt_suite kt_attention_resident = {"attention_resident",
                                               COUNT(resident_groups) * COUNT(attention_cases),
                                               resident_name, run_resident};

// A table of direct grids gives the same bits as one of indirect grids, where the device has those.
static bool replay_table(struct kt_run *run, const struct attention *a,
                         const struct gi_attention_scratch *scratch, float *out)
{
    struct glinfer_error err;
    size_t size = a->width * sizeof(float);
    return (gi_op_attention(&run->recorder, "attention", &a->layer.kv, &a->rule, scratch, &err) ||
            kt_fail(run, "%s", err.message)) &&
           kt_seal(run) && run_step(run, a, 0) && kt_read(run, &scratch->range, 0, out, size);
}

static bool replay_direct(struct kt_run *run, const struct attention *a,
                          const struct gi_attention_scratch *scratch, float *out)
{
    struct glinfer_error err;
    const struct gi_dispatch_table_params params = {.state = run->step_state};
    struct gi_dispatch_table *table = run->recorder.table;
    run->recorder.table = gi_dispatch_table_create(run->gpu, run->recorder.programs, &params, &err);
    bool is_good =
        run->recorder.table ? replay_table(run, a, scratch, out) : kt_fail(run, "%s", err.message);
    gi_dispatch_table_destroy(run->recorder.table);
    run->recorder.table = table;
    return is_good;
}

static bool run_direct(struct kt_run *run, size_t index)
{
    struct attention a;
    attention_init(&a, run, &attention_cases[index]);
    struct gi_attention_scratch scratch = make_scratch(run, &a.layer.kv);
    float *first = kt_alloc(a.width, sizeof(float)), *second = kt_alloc(a.width, sizeof(float));
    bool is_good = !run->has_failed && replay_table(run, &a, &scratch, first) &&
                   replay_direct(run, &a, &scratch, second);
    if (is_good && memcmp(first, second, a.width * sizeof(float)) != 0) {
        is_good = kt_fail(run, "a direct grid gives other bits");
    }
    free(first);
    free(second);
    attention_finish(&a);
    return is_good;
}

const struct kt_suite kt_attention_direct = {"attention_direct", COUNT(attention_cases),
                                             attention_name, run_direct};

static const struct attention_case attention_batch_cases[] = {
    {{9, 3, 64, 64, F16, F16},    1,   0,    0,   0},
    {{9, 3, 64, 64, F16, F16},    2,   1,    0,   0},
    {{4, 4, 80, 128, F32, F16},   7,   63,   0,   0},
    {{8, 1, 96, 128, F16, F32},   31,  64,   0,   0},
    {{14, 2, 128, 600, F32, F32}, 32,  500,  0,   0},
    {{8, 1, 256, 2100, F16, F16}, 33,  2000, 0,   0},
    {{3, 1, 8, 300, F16, F16},    128, 64,   0,   0},
    {{4, 4, 256, 300, F32, F32},  128, 0,    0,   0},
    {{9, 3, 64, 512, F16, F16},   512, 0,    0,   0},
    {{9, 3, 64, 1536, F16, F16},  512, 1000, 0,   0},
    {{9, 3, 64, 300, F16, F16},   40,  200,  17,  0},
    {{4, 1, 256, 300, F32, F16},  33,  100,  64,  5},
    {{8, 2, 96, 600, F16, F32},   128, 300,  128, 0},
    {{4, 2, 80, 128, F16, F16},   70,  0,    0,   2},
    {{9, 3, 64, 300, Q8, Q8},     40,  200,  0,   0},
    {{4, 2, 80, 128, Q8, Q8},     70,  0,    17,  0},
    {{8, 2, 96, 200, F16, Q8},    33,  100,  0,   0},
    {{8, 1, 128, 200, Q8, F32},   33,  100,  0,   0},
    {{4, 1, 256, 200, Q8, Q8},    9,   100,  0,   5},
    {{3, 1, 8, 300, Q8, Q8},      40,  64,   0,   0},
};

static const char *const batch_shapes[] = {"split", "lane", "row"}; // of GLINFER_BATCH

static void attention_batch_name(size_t index, char *text, size_t size)
{
    int n = snprintf(text, size, "%s ", batch_shapes[index % COUNT(batch_shapes)]);
    attention_text(&attention_batch_cases[index / COUNT(batch_shapes)], text + n, size - (size_t)n);
}

static bool run_attention_batch(struct kt_run *run, size_t index)
{
    const struct attention_case *c = &attention_batch_cases[index / COUNT(batch_shapes)];
    struct glinfer_error err;
    struct attention a;
    attention_init(&a, run, c);
    size_t size = (size_t)c->n_tokens * a.width * sizeof(float);
    struct gi_rows q = {kt_range(run, "q", a.q, size), a.width, false};
    struct gi_rows out = {kt_range(run, "out", NULL, size), a.width, false};
    bool is_good = !run->has_failed &&
                   setenv("GLINFER_BATCH", batch_shapes[index % COUNT(batch_shapes)], 1) == 0 &&
                   (gi_op_attention_batch(&run->recorder, "attention_batch", &a.layer.kv, &a.rule,
                                          &q, &out, &err) ||
                    kt_fail(run, "%s", err.message)) &&
                   kt_seal(run) && kt_replay(run, c->n_past, c->n_tokens);
    // All tokens of a small batch, some of a large one.
    uint32_t step = c->n_tokens < 40 ? 1 : 37;
    for (uint32_t m = 0; is_good && m < c->n_tokens; m += step) {
        is_good = check_token(run, &a, m, &out.range, (size_t)m * a.width * sizeof(float));
    }
    is_good = is_good && check_token(run, &a, c->n_tokens - 1, &out.range,
                                     (size_t)(c->n_tokens - 1) * a.width * sizeof(float));
    is_good = is_good && kt_bench(run, c->n_past, c->n_tokens, size * 2);
    attention_finish(&a);
    return is_good;
}

const struct kt_suite kt_attention_batch = {"attention_batch",
                                            COUNT(attention_batch_cases) * COUNT(batch_shapes),
                                            attention_batch_name, run_attention_batch};

//-- prompt and decode -----------------------------------------------------------------------------

// The batch's result of each token against what decode gives for it, in one table: both are within
// their bound of the same reference, so they are within twice it of each other.
static const struct attention_case agree_cases[] = {
    {{9, 3, 64, 200, F16, F16}, 33, 120, 0,  0},
    {{8, 1, 128, 64, F32, F16}, 7,  0,   0,  0},
    {{8, 2, 64, 300, F16, F16}, 20, 250, 33, 3},
    {{9, 3, 64, 200, Q8, Q8},   33, 120, 0,  0},
};

static void agree_name(size_t index, char *text, size_t size)
{
    attention_text(&agree_cases[index], text, size);
}

static bool check_agreement(struct kt_run *run, struct attention *a, uint32_t m,
                            const struct gi_range *scratch, const struct gi_range *out)
{
    float *batch = kt_alloc(a->width, sizeof(float));
    bool is_good =
        kt_read(run, out, (size_t)m * a->width * sizeof(float), batch, a->width * sizeof(float));
    make_want(a, m);
    for (uint32_t i = 0; i < a->width; i++) {
        a->want[i] = (double)batch[i];
        a->bound[i] *= 2;
    }
    is_good = is_good && kt_compare_f32(run, "decode", scratch, 0, a->want, a->bound, a->width);
    free(batch);
    return is_good;
}

static bool run_agree(struct kt_run *run, size_t index)
{
    const struct attention_case *c = &agree_cases[index];
    struct glinfer_error err;
    struct attention a;
    attention_init(&a, run, c);
    struct gi_attention_scratch scratch = make_scratch(run, &a.layer.kv);
    size_t size = (size_t)c->n_tokens * a.width * sizeof(float);
    struct gi_rows q = {kt_range(run, "q", a.q, size), a.width, false};
    struct gi_rows out = {kt_range(run, "out", NULL, size), a.width, false};
    float *first = kt_alloc(size, 1);
    bool is_good =
        !run->has_failed && unsetenv("GLINFER_BATCH") == 0 &&
        ((gi_op_attention_batch(&run->recorder, "attention_batch", &a.layer.kv, &a.rule, &q, &out,
                                &err) &&
          gi_op_attention(&run->recorder, "attention", &a.layer.kv, &a.rule, &scratch, &err)) ||
         kt_fail(run, "%s", err.message)) &&
        kt_seal(run) && kt_replay(run, c->n_past, c->n_tokens) &&
        kt_read(run, &out.range, 0, first, size);
    for (uint32_t m = 0; is_good && m < c->n_tokens; m++) {
        is_good = run_step(run, &a, m) && kt_write(run, &out.range, 0, first, size) &&
                  check_agreement(run, &a, m, &scratch.range, &out.range);
    }
    free(first);
    attention_finish(&a);
    return is_good;
}

const struct kt_suite kt_attention_agree = {"attention_agree", COUNT(agree_cases), agree_name,
                                            run_agree};
