#include "kernel_qkv.h"

#include "kernel_rows.h"
#include "tests/ref/ref_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void stack_section(const float *natural, uint32_t n, float *stacked)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pair = i / 2;
        stacked[pair / 8 * 16 + i % 2 * 8 + pair % 8] = natural[i];
    }
}

void kt_qkv_init(struct kt_qkv *qkv, struct kt_run *run, const struct kt_layer_shape *shape,
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

void kt_qkv_finish(struct kt_qkv *qkv)
{
    free(qkv->natural);
    free(qkv->stacked);
}

// Norms n elements in runs of width, which gamma has, and rounds them as an f32 result is.
static void norm_section(float *section, uint32_t n, uint32_t width, const float *gamma)
{
    double *normed = kt_alloc(width, sizeof(double));
    for (uint32_t begin = 0; begin < n; begin += width) {
        ref_rmsnorm(section + begin, gamma, width, (double)KT_NORM_EPS, normed);
        for (uint32_t i = 0; i < width; i++) {
            section[begin + i] = (float)normed[i];
        }
    }
    free(normed);
}

void kt_norm_qkv(struct kt_qkv *qkv, const struct kt_rope_case *c, const struct gi_head_norm *norm,
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
struct gi_vectors kt_normed_table(struct kt_run *run, const struct kt_rope_case *c, bool whole,
                                  struct gi_head_norm *norm, float **values)
{
    uint32_t dim = c->shape.head_dim, n_table = c->n_rot * c->shape.n_ctx;
    *norm = (struct gi_head_norm){.q_gamma = n_table,
                                  .q_width = whole ? c->shape.n_head * dim : dim,
                                  .k_width = whole ? c->shape.n_kv_head * dim : dim,
                                  .eps = KT_NORM_EPS};
    norm->k_gamma = norm->q_gamma + norm->q_width;
    size_t n = norm->k_gamma + norm->k_width;
    *values = kt_alloc(n, sizeof(float));
    for (uint32_t position = 0; position < c->shape.n_ctx; position++) {
        ref_rope_table(c->n_rot, KT_ROPE_RATE, position, *values + (size_t)position * c->n_rot);
    }
    kt_fill(run, *values + n_table, n - n_table, 0.5f, 2);
    return (struct gi_vectors){kt_range(run, "vectors", *values, n * sizeof(float)), 0};
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
bool kt_check_row(struct kt_run *run, bool is_k, const struct gi_kv_layer *kv, size_t row,
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

// What lies outside the positions of the batch is as it was: rows of n words from begin on.
static bool check_rows(struct kt_run *run, const struct kt_rope_case *c,
                       const struct kt_layer *layer, const uint32_t *words, uint32_t begin,
                       uint32_t n)
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

bool kt_check_untouched(struct kt_run *run, const struct kt_rope_case *c,
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
