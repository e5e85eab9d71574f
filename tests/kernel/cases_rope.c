// Rotation into the cache, with and without norms of q and k, against its formula in double.
#include "kernel_layer.h"
#include "kernel_rows.h"
#include "tests/ref/ref_batch.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROPE_RATE 10000.0

struct rope_case {
    struct kt_layer_shape shape;
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
             c->n_past, kt_cache_names[c->shape.type_k], kt_cache_names[c->shape.type_v]);
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

static void qkv_init(struct qkv *qkv, struct kt_run *run, const struct kt_layer_shape *shape,
                     uint32_t n_tokens)
{
    uint32_t n_q = shape->n_head * shape->head_dim, n_kv = shape->n_kv_head * shape->head_dim;
    gi_qkv_layout_init(&qkv->layout, shape->n_head, shape->n_kv_head, shape->head_dim);
    qkv->width = n_q + 2 * n_kv;
    qkv->rows.stride = kt_pad32(qkv->layout.n_rows);
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
                         const struct kt_layer *layer, const struct gi_rows *q, uint32_t m)
{
    const struct kt_layer_shape *s = &c->shape;
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
static bool check_rows(struct kt_run *run, const struct rope_case *c, const struct kt_layer *layer,
                       const uint32_t *words, uint32_t begin, uint32_t n)
{
    const struct kt_layer_shape *s = &c->shape;
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
                            const struct kt_layer *layer)
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
    struct kt_layer layer;
    struct qkv qkv;
    kt_layer_init(&layer, run, &c->shape);
    qkv_init(&qkv, run, &c->shape, c->n_tokens);
    struct gi_vectors vectors = make_table(run, c->n_rot, c->shape.n_ctx);
    uint32_t stride = kt_pad32(c->shape.n_head * c->shape.head_dim);
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
    kt_layer_finish(&layer);
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
    struct kt_layer layer;
    struct qkv qkv;
    struct gi_head_norm norm;
    float *values;
    kt_layer_init(&layer, run, &c->shape);
    qkv_init(&qkv, run, &c->shape, c->n_tokens);
    struct gi_vectors vectors = make_normed_table(run, c, is_whole(index), &norm, &values);
    const struct gi_rope rope = {.table = 0, .n_rot = c->n_rot};
    uint32_t stride = kt_pad32(c->shape.n_head * c->shape.head_dim);
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
    kt_layer_finish(&layer);
    qkv_finish(&qkv);
    return is_good;
}

const struct kt_suite kt_norm_rope_kv = {"norm_rope_kv", 2 * COUNT(rope_cases), norm_rope_name,
                                         run_norm_rope_kv};
