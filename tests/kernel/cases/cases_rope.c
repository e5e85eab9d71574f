// Rotation into the cache, with and without norms of q and k, against its formula in double.
#include "tests/kernel/fixture/kernel_qkv.h"
#include "tests/kernel/fixture/kernel_rows.h"
#include "tests/ref/ref_batch.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kt_rope_case rope_cases[] = {
    {{9, 3, 64, 64, F16, F16}, 64, 1, 0},        {{9, 3, 64, 64, F16, F16}, 64, 2, 1},
    {{4, 4, 80, 128, F32, F16}, 32, 7, 63},      {{8, 1, 96, 128, F16, F32}, 96, 31, 64},
    {{14, 2, 128, 600, F32, F32}, 128, 32, 500}, {{8, 1, 256, 2100, F16, F16}, 64, 33, 2000},
    {{9, 3, 64, 600, F16, F16}, 64, 512, 0},     {{3, 1, 8, 200, F32, F16}, 2, 128, 64},
    {{9, 3, 64, 64, Q8, Q8}, 64, 1, 5},          {{9, 3, 64, 600, Q8, F16}, 64, 130, 64},
    {{4, 4, 80, 128, Q8, Q8}, 32, 7, 63},        {{8, 1, 96, 128, F32, Q8}, 96, 31, 64},
    {{14, 2, 128, 600, Q8, Q8}, 128, 3, 500},    {{8, 1, 256, 300, Q8, Q8}, 64, 33, 200},
    {{3, 1, 8, 200, Q8, Q8}, 2, 17, 64},         {{9, 3, 64, 64, Q4, Q4}, 64, 1, 5},
    {{9, 3, 64, 600, Q4, F16}, 64, 130, 64},     {{4, 4, 80, 128, Q4, Q8}, 32, 7, 63},
    {{8, 1, 96, 128, F32, Q4}, 96, 31, 64},      {{14, 2, 128, 600, Q4, Q4}, 128, 3, 500},
    {{8, 1, 256, 300, Q4, Q4}, 64, 33, 200},     {{3, 1, 8, 200, Q4, Q4}, 2, 17, 64},
};

#define PERIOD 16 // positions, after which q grows

static void rope_name(size_t index, char *text, size_t size)
{
    const struct kt_rope_case *c = &rope_cases[index];
    snprintf(text, size, "%u/%u heads of %u, rotations of %u, %u tokens at %u, k %s v %s",
             c->shape.n_head, c->shape.n_kv_head, c->shape.head_dim, c->n_rot, c->n_tokens,
             c->n_past, kt_cache_names[c->shape.type_k], kt_cache_names[c->shape.type_v]);
}

static struct gi_vectors make_table(struct kt_run *run, uint32_t n_rot, uint32_t n_ctx)
{
    const uint32_t rope = 4;
    size_t n = rope + (size_t)n_rot * n_ctx;
    float *values = kt_alloc(n, sizeof(float));
    for (uint32_t position = 0; position < n_ctx; position++) {
        ref_rope_table(n_rot, KT_ROPE_RATE, position, values + rope + (size_t)position * n_rot);
    }
    struct gi_vectors vectors = {kt_range(run, "vectors", values, n * sizeof(float)), rope};
    free(values);
    return vectors;
}

// A head as the formula has it, with the bound of its f32 result; gamma multiplies it at the end
// (NULL: nothing does).
static void make_head(const float *head, const struct kt_rope_case *c, bool is_turned,
                      const float *gamma, uint32_t position, double *want, double *bound)
{
    ref_rope(head, c->shape.head_dim, is_turned ? c->n_rot : 0, KT_ROPE_RATE, position, want,
             bound);
    for (uint32_t i = 0; i < c->shape.head_dim; i++) {
        const double factor = gamma ? (double)gamma[i] : 1;
        want[i] *= factor;
        bound[i] *= 4 * (double)FLT_EPSILON * factor;
    }
}

static bool check_turned(struct kt_run *run, const struct kt_rope_case *c, const struct kt_qkv *qkv,
                         const struct kt_layer *layer, const struct gi_rows *q,
                         const float *q_gamma, const float *k_gamma, double temperature,
                         double slack, uint32_t m)
{
    const double growth = 1 + temperature * log(1 + floor((c->n_past + m) / (double)PERIOD));
    const struct kt_layer_shape *s = &c->shape;
    uint32_t dim = s->head_dim, position = c->n_past + m;
    const float *head = qkv->natural + (size_t)m * qkv->width;
    bool is_good = true;
    double want[256], bound[256];
    for (uint32_t h = 0; is_good && h < s->n_head; h++, head += dim) {
        size_t offset = ((size_t)m * q->stride + (size_t)h * dim) * sizeof(float);
        make_head(head, c, true, q_gamma, position, want, bound);
        for (uint32_t i = 0; i < dim; i++) {
            want[i] *= growth;
            bound[i] = 2 * growth * bound[i] + slack;
        }
        is_good = kt_compare_f32(run, "q", &q->range, offset, want, bound, dim);
    }
    for (uint32_t i = 0; is_good && i < 2 * s->n_kv_head; i++, head += dim) {
        bool is_k = i < s->n_kv_head;
        make_head(head, c, is_k, is_k ? k_gamma : NULL, position, want, bound);
        for (uint32_t k = 0; k < dim; k++) {
            bound[k] += slack;
        }
        is_good = kt_check_row(run, is_k, &layer->kv,
                               (size_t)(i % s->n_kv_head) * s->n_ctx + position, want, bound);
    }
    return is_good;
}

static bool run_rope_kv(struct kt_run *run, size_t index)
{
    const struct kt_rope_case *c = &rope_cases[index];
    struct kt_layer layer;
    struct kt_qkv qkv;
    kt_layer_init(&layer, run, &c->shape, c->shape.n_ctx);
    kt_qkv_init(&qkv, run, &c->shape, c->n_tokens);
    struct gi_vectors vectors = make_table(run, c->n_rot, c->shape.n_ctx);
    uint32_t stride = kt_pad32(c->shape.n_head * c->shape.head_dim);
    struct gi_rows q = {kt_range(run, "q", NULL, (size_t)c->n_tokens * stride * sizeof(float)),
                        stride, false};
    // Every third case has a temperature.
    const struct gi_rope rope = {
        .n_rot = c->n_rot, .temperature = index % 3 == 2 ? 0.1f : 0.0f, .period = PERIOD};
    bool is_good = !run->has_failed;
    if (is_good) {
        gi_op_rope_kv(&run->recorder, "rope", &qkv.layout, &qkv.rows, &vectors, &rope, &layer.kv,
                      &q);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, c->n_past, c->n_tokens) &&
              kt_check_untouched(run, c, &layer) &&
              kt_bench(run, c->n_past, c->n_tokens, (uint64_t)c->n_tokens * qkv.width * 8);
    for (uint32_t m = 0; is_good && m < c->n_tokens; m++) {
        is_good =
            check_turned(run, c, &qkv, &layer, &q, NULL, NULL, (double)rope.temperature, 0, m);
    }
    kt_layer_finish(&layer);
    kt_qkv_finish(&qkv);
    return is_good;
}

const struct kt_suite kt_rope_kv = {"rope_kv", COUNT(rope_cases), rope_name, run_rope_kv};

//-- norm_rope_kv --------------------------------------------------------------------------------

// Heads of q and k with a norm each, with one over all of them, or with one each that comes last.
static bool is_whole(size_t index)
{
    return index % 3 == 1;
}

static bool is_last(size_t index)
{
    return index % 3 == 2;
}

// Every other case of norms of each head has one of v, too.
static bool has_value_norm(size_t index)
{
    return index % 6 == 3;
}

// Some of norms of each head are layernorms.
static bool is_layernorm(size_t index)
{
    return index % 12 == 6;
}

static void norm_rope_name(size_t index, char *text, size_t size)
{
    rope_name(index / 3, text, size);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s",
             is_whole(index)         ? ", one norm"
             : is_last(index)        ? ", norm last"
             : has_value_norm(index) ? ", norm of v"
             : is_layernorm(index)   ? ", layernorm"
                                     : "");
}

// Returns the weights of both norms, which become 1.
static float *leave_gammas(const struct gi_head_norm *norm, float *values)
{
    const uint32_t n = norm->q_width + norm->k_width;
    float *gammas = kt_alloc(n, sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        gammas[i] = values[norm->q_gamma + i];
        values[norm->q_gamma + i] = 1;
    }
    return gammas;
}

static bool run_norm_rope_kv(struct kt_run *run, size_t index)
{
    const struct kt_rope_case *c = &rope_cases[index / 3];
    struct kt_layer layer;
    struct kt_qkv qkv;
    struct gi_head_norm norm;
    float *values;
    kt_layer_init(&layer, run, &c->shape, c->shape.n_ctx);
    kt_qkv_init(&qkv, run, &c->shape, c->n_tokens);
    struct gi_vectors vectors =
        kt_normed_table(run, c, is_whole(index) || is_layernorm(index), &norm, &values);
    if (is_layernorm(index)) {
        norm.is_layernorm = true;
        norm.q_width = norm.k_width = c->shape.head_dim;
    }
    norm.has_v = has_value_norm(index);
    const struct gi_rope rope = {.table = 0, .n_rot = c->n_rot, .is_before_norm = is_last(index)};
    uint32_t stride = kt_pad32(c->shape.n_head * c->shape.head_dim);
    struct gi_rows q = {kt_range(run, "q", NULL, (size_t)c->n_tokens * stride * sizeof(float)),
                        stride, false};
    bool is_good = !run->has_failed;
    if (is_good) {
        gi_op_norm_rope_kv(&run->recorder, "norm_rope", &qkv.layout, &qkv.rows, &vectors, &norm,
                           &rope, &layer.kv, &q);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, c->n_past, c->n_tokens) &&
              kt_check_untouched(run, c, &layer);
    // Holds the rounding of x, of which a layernorm takes the mean; normed values are about 1.
    const double slack = is_layernorm(index) ? 4 * (double)FLT_EPSILON : 0;
    float *gammas = is_last(index) ? leave_gammas(&norm, values) : NULL;
    kt_norm_qkv(&qkv, c, &norm, values);
    for (uint32_t m = 0; is_good && m < c->n_tokens; m++) {
        is_good = check_turned(run, c, &qkv, &layer, &q, gammas,
                               gammas ? gammas + norm.q_width : NULL, 0, slack, m);
    }
    free(gammas);
    free(values);
    kt_layer_finish(&layer);
    kt_qkv_finish(&qkv);
    return is_good;
}

const struct kt_suite kt_norm_rope_kv = {"norm_rope_kv", 3 * COUNT(rope_cases), norm_rope_name,
                                         run_norm_rope_kv};
