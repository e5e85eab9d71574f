// Rotation of q, k and v into the cache: glsl/attention/rope_kv.comp and norm_rope_kv.comp.
#include "reference/ref_rope.h"

#include "glsl/attention/attention_params.h"
#include "reference/reference.h"

#include <math.h>

// Reads element i in pair order (ops/record/weight.h).
static double raw(const struct gi_ref_section *section, const float *row, uint32_t i)
{
    const uint32_t pair = i / 2;
    return row[section->begin + pair / 8 * 16 + pair % 8 + i % 2 * 8];
}

// Computes elements of one norm from `first` on, or one without a norm.
static void norm_section(const struct gi_ref_section *section, const float *row, uint32_t first,
                         uint32_t n, struct gi_ref_value *out)
{
    double mean = 0, rounding = 0, sum = 0; // rounding: of the mean
    for (uint32_t i = 0; section->is_layernorm && i < n; i++) {
        mean += raw(section, row, first + i) / n;
        rounding += fabs(raw(section, row, first + i)) / n / 4;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double difference = raw(section, row, first + i) - mean;
        sum += difference * difference;
    }
    for (uint32_t i = 0; i < n; i++) {
        const bool has_gamma = section->gamma && !section->is_last;
        const uint32_t at = section->is_layernorm ? first + i : i;
        const double scale = section->width == 0 ? 1
                                                 : (has_gamma ? section->gamma[at] : 1) /
                                                       sqrt(sum / n + section->eps);
        const double value = (raw(section, row, first + i) - mean) * scale;
        out[i] = (struct gi_ref_value){value, fabs(rounding * scale) + fabs(value)};
    }
}

void gi_ref_turn(struct gi_ref_value pair[2], const float *rotation)
{
    const struct gi_ref_value a = pair[0], b = pair[1];
    const double c = rotation[0], s = rotation[1];
    pair[0] = (struct gi_ref_value){a.value * c - b.value * s,
                                    a.magnitude * fabs(c) + b.magnitude * fabs(s)};
    pair[1] = (struct gi_ref_value){a.value * s + b.value * c,
                                    a.magnitude * fabs(s) + b.magnitude * fabs(c)};
}

void gi_ref_turn_section(const struct gi_ref_section *section, const float *row, uint32_t first,
                         uint32_t n, uint32_t head_dim, const float *rope, uint32_t n_rot,
                         struct gi_ref_value *out)
{
    const uint32_t width = section->width > 0 ? section->width : n;
    for (uint32_t begin = 0; begin < n; begin += width) {
        norm_section(section, row, first + begin, width, out + begin);
    }
    for (uint32_t i = 0; i < n; i += 2) {
        const uint32_t at = (first + i) % head_dim;
        if (at < n_rot) {
            gi_ref_turn(out + i, rope + at);
        }
    }
    for (uint32_t i = 0; section->is_last && i < n; i++) {
        const double gamma = section->gamma[(first + i) % width];
        out[i] = (struct gi_ref_value){out[i].value * gamma, out[i].magnitude * fabs(gamma)};
    }
}

void gi_ref_expect_kv(struct gi_ref *ref, const struct gi_ref_cache *cache,
                      const struct gi_ref_section *section, const float *row, const float *rope,
                      uint32_t n_rot, uint32_t position)
{
    struct gi_ref_value *values = gi_ref_memory(ref, section->n, sizeof(*values));
    if (values) {
        gi_ref_turn_section(section, row, 0, section->n, cache->head_dim, rope, n_rot, values);
    }
    for (uint32_t i = 0; values && i < section->n; i += cache->head_dim) {
        gi_ref_cache_expect_row(ref, cache, i / cache->head_dim, position, values + i);
    }
}

// Lists the results of both kernels, whose Params begin alike.
static void rotate(struct gi_ref *ref, struct gi_ref_section sections[3])
{
    const struct gi_rope_kv_params *p = ref->params;
    const uint32_t head_dim = 2 * p->n_head_pair, n_rot = 2 * p->n_rot_pair, n_q = 2 * p->n_q_pair;
    const uint64_t begin = (uint64_t)ref->slot * p->slot_cache;
    const struct gi_ref_cache k = {
        "k", 3, gi_ref_define(ref, "K_TYPE"), head_dim, p->n_ctx, begin + p->k, begin + p->k_scale};
    const struct gi_ref_cache v = {
        "v", 3, gi_ref_define(ref, "V_TYPE"), head_dim, p->n_ctx, begin + p->v, begin + p->v_scale};
    const float *qkv =
        gi_ref_rows(ref, 1, (uint64_t)ref->slot * p->qkv_stride, p->qkv_stride, p->qkv_stride);
    const float *rope = gi_ref_floats(ref, 2, 2ull * p->rope + (uint64_t)ref->n_past * n_rot,
                                      (size_t)ref->n_tokens * n_rot);
    struct gi_ref_value *q = gi_ref_memory(ref, n_q, sizeof(*q));
    for (uint32_t m = 0; m < ref->n_tokens; m++) {
        gi_ref_expect_written(ref, "q", 0, begin + (uint64_t)m * p->q_stride, n_q);
    }
    for (uint32_t head = 0; head < p->n_kv_pair / p->n_head_pair; head++) {
        gi_ref_cache_written(ref, &k, head, ref->n_past, ref->n_tokens);
        gi_ref_cache_written(ref, &v, head, ref->n_past, ref->n_tokens);
    }
    for (uint32_t m = 0; !ref->has_failed && m < ref->n_tokens;
         m = gi_ref_next(ref, m, ref->n_tokens, 8ull * (n_q + 4 * p->n_kv_pair))) {
        const float *row = qkv + (size_t)m * p->qkv_stride, *turns = rope + (size_t)m * n_rot;
        const uint32_t position = ref->n_past + m;
        const double factor =
            gi_ref_define(ref, "TEMPERATURE")
                ? 1 + (double)p->temperature * log(1 + (double)(position / p->period))
                : 1;
        const double roundings = ref->roundings;
        gi_ref_turn_section(&sections[0], row, 0, n_q, head_dim, turns, n_rot, q);
        ref->roundings = 2 * roundings;
        for (uint32_t i = 0; i < n_q; i++) {
            gi_ref_expect(ref, "q", 0, begin + (uint64_t)m * p->q_stride + i, factor * q[i].value,
                          factor * q[i].magnitude);
        }
        ref->roundings = roundings;
        gi_ref_expect_kv(ref, &k, &sections[1], row, turns, n_rot, position);
        gi_ref_expect_kv(ref, &v, &sections[2], row, turns, 0, position);
    }
}

void gi_ref_rope_kv(struct gi_ref *ref)
{
    const struct gi_rope_kv_params *p = ref->params;
    struct gi_ref_section sections[3] = {{.begin = p->q_begin, .n = 2 * p->n_q_pair},
                                         {.begin = p->k_begin, .n = 2 * p->n_kv_pair},
                                         {.begin = p->v_begin, .n = 2 * p->n_kv_pair}};
    rotate(ref, sections);
}

void gi_ref_norm_rope_kv(struct gi_ref *ref)
{
    const struct gi_norm_rope_kv_params *p = ref->params;
    const bool is_layernorm = gi_ref_define(ref, "LAYERNORM");
    const uint32_t n_q = 2 * p->n_q_pair, n_kv = 2 * p->n_kv_pair;
    const uint32_t q_width = 2 * p->q_norm_pair, k_width = 2 * p->kv_norm_pair;
    struct gi_ref_section sections[3] = {
        {gi_ref_floats(ref, 2, 2ull * p->q_gamma, is_layernorm ? n_q : q_width), p->q_begin, n_q,
         q_width, p->eps, gi_ref_define(ref, "NORM_LAST"), is_layernorm},
        {gi_ref_floats(ref, 2, 2ull * p->k_gamma, is_layernorm ? n_kv : k_width), p->k_begin, n_kv,
         k_width, p->eps, gi_ref_define(ref, "NORM_LAST"), is_layernorm},
        {NULL, p->v_begin, n_kv, gi_ref_define(ref, "VALUE_NORM") ? k_width : 0, p->eps, false,
         false}};
    rotate(ref, sections);
}
