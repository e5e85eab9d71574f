// Checks of RoPE, the cache and attention: the kernels of glsl/attention.
#include "engine/selftest/test_case.h"
#include "engine/selftest/test_rows.h"
#include "glsl/attention/attention_params.h"

#include <math.h>
#include <stdlib.h>

//-- rope and cache --------------------------------------------------------------------------------

// Columns of q, of k or of v in a row of the projection, n elements in pair order, and their norm:
// over `width` of them, 0: none, with the weights gamma; NULL: all 1.
struct section {
    const float *qkv, *gamma;
    uint32_t begin, n, width;
    double eps;
    bool is_last;      // gamma comes after the rotation
    bool is_layernorm; // gamma is of all n elements
};

// Reads element i in pair order (ops/record/weight.h).
static float raw(const struct section *section, uint32_t i)
{
    const uint32_t pair = i / 2;
    return section->qkv[section->begin + pair / 8 * 16 + pair % 8 + i % 2 * 8];
}

static struct gi_ref_value normed(const struct section *section, uint32_t i)
{
    double value = raw(section, i), magnitude = 0, mean = 0, sum = 0;
    if (section->width > 0) {
        const bool has_gamma = section->gamma && !section->is_last;
        const uint32_t first = i / section->width * section->width;
        const uint32_t at = section->is_layernorm ? i : i - first;
        for (uint32_t j = first; section->is_layernorm && j < first + section->width; j++) {
            mean += (double)raw(section, j) / section->width;
        }
        for (uint32_t j = first; j < first + section->width; j++) {
            sum += (raw(section, j) - mean) * (raw(section, j) - mean);
        }
        const double scale =
            (has_gamma ? section->gamma[at] : 1) / sqrt(sum / section->width + section->eps);
        magnitude = fabs(mean * scale);
        value = (value - mean) * scale;
    }
    return (struct gi_ref_value){value, magnitude + fabs(value)};
}

// Computes n elements from `first` on, rotated by the rotations of n_rot elements of a head.
static void turn_section(const struct section *section, uint32_t first, uint32_t n,
                         uint32_t head_dim, const float *rope, uint32_t n_rot,
                         struct gi_ref_value *out)
{
    for (uint32_t i = 0; i < n; i += 2) {
        const struct gi_ref_value a = normed(section, first + i),
                                  b = normed(section, first + i + 1);
        const uint32_t at = (first + i) % head_dim;
        out[i] = a;
        out[i + 1] = b;
        if (at < n_rot) {
            const double c = rope[at], s = rope[at + 1], magnitude = a.magnitude + b.magnitude;
            out[i] = (struct gi_ref_value){a.value * c - b.value * s, magnitude};
            out[i + 1] = (struct gi_ref_value){a.value * s + b.value * c, magnitude};
        }
        for (uint32_t j = i; section->is_last && j < i + 2; j++) {
            const double gamma = section->gamma[(first + j) % section->width];
            out[j] = (struct gi_ref_value){out[j].value * gamma, out[j].magnitude * fabs(gamma)};
        }
    }
}

static void check_q(struct gi_test *test, const struct section *section, uint32_t head_dim,
                    const float *rope, uint32_t n_rot, double factor, const float *q)
{
    struct gi_ref_value *expected = gi_test_memory(test, section->n, sizeof(*expected));
    if (expected) {
        turn_section(section, 0, section->n, head_dim, rope, n_rot, expected);
    }
    for (uint32_t i = 0; expected && i < section->n; i++) {
        gi_test_expect(test, "q", i, factor * expected[i].value, factor * expected[i].magnitude,
                       q[i]);
    }
}

static void check_kv(struct gi_test *test, const struct section *section, bool is_key,
                     uint32_t head_dim, const float *rope, uint32_t n_rot, uint32_t position)
{
    const struct gi_kv_layer *layer = gi_test_layer(test, 3);
    struct gi_ref_value *expected = gi_test_memory(test, head_dim, sizeof(*expected));
    for (uint32_t head = 0; expected && head < section->n / head_dim; head++) {
        const uint32_t n_memory = test->n_memory;
        turn_section(section, head * head_dim, head_dim, head_dim, rope, is_key ? n_rot : 0,
                     expected);
        gi_test_expect_cache(test, layer, is_key, head, position, expected);
        gi_test_rewind(test, n_memory);
    }
}

// The rows of a batch that check_rope_token compares.
struct batch {
    const float *qkv, *rope, *q; // rows of all tokens
    struct section sections[3];  // q, k and v, of token 0
};

static void check_rope_token(struct gi_test *test, const struct batch *batch, uint32_t token)
{
    const struct gi_norm_rope_kv_params *params = (const void *)test->params;
    const uint32_t position = test->n_past + token;
    const uint32_t head_dim = 2 * params->n_head_pair, n_rot = 2 * params->n_rot_pair;
    const float *rope = batch->rope + (uint64_t)token * n_rot;
    struct section sections[3];
    const bool has_temperature = gi_test_define(test, "TEMPERATURE");
    const uint32_t n_period = has_temperature ? position / params->period : 0;
    const double factor =
        has_temperature ? 1 + (double)params->temperature * log(1 + (double)n_period) : 1;
    for (uint32_t i = 0; i < 3; i++) {
        sections[i] = batch->sections[i];
        sections[i].qkv = batch->qkv + (uint64_t)token * params->qkv_stride;
    }
    check_q(test, &sections[0], head_dim, rope, n_rot, factor,
            batch->q + (uint64_t)token * params->q_stride);
    check_kv(test, &sections[1], true, head_dim, rope, n_rot, position);
    check_kv(test, &sections[2], false, head_dim, rope, n_rot, position);
}

// Takes a step or a batch, with norms of q and k or without. The first, middle and last token are
// compared; those of the others have to be written.
void gi_check_rope_kv(struct gi_test *test)
{
    const struct gi_norm_rope_kv_params *params = (const void *)test->params;
    const bool has_norm = test->key->id == GI_PROGRAM_NORM_ROPE_KV;
    const uint32_t n_rot = 2 * params->n_rot_pair, last = test->n_tokens - 1;
    const uint32_t n_kv = params->n_kv_pair / params->n_head_pair; // heads
    struct batch batch = {
        .qkv = gi_test_rows(test, 1, 0, params->qkv_stride, params->qkv_stride),
        .rope = gi_test_floats(test, 2, 2ull * params->rope + (uint64_t)test->n_past * n_rot,
                               (size_t)test->n_tokens * n_rot),
        .sections = {{.begin = params->q_begin, .n = 2 * params->n_q_pair},
                     {.begin = params->k_begin, .n = 2 * params->n_kv_pair},
                     {.begin = params->v_begin, .n = 2 * params->n_kv_pair}},
    };
    struct section *q = &batch.sections[0], *k = &batch.sections[1], *v = &batch.sections[2];
    if (has_norm) {
        q->width = 2 * params->q_norm_pair;
        k->width = 2 * params->kv_norm_pair;
        q->is_layernorm = k->is_layernorm = gi_test_define(test, "LAYERNORM");
        q->gamma =
            gi_test_floats(test, 2, 2ull * params->q_gamma, q->is_layernorm ? q->n : q->width);
        k->gamma =
            gi_test_floats(test, 2, 2ull * params->k_gamma, k->is_layernorm ? k->n : k->width);
        q->eps = k->eps = params->eps;
        q->is_last = k->is_last = gi_test_define(test, "NORM_LAST");
        v->width = gi_test_define(test, "VALUE_NORM") ? k->width : 0;
        v->eps = params->eps;
    }
    gi_test_poison_rows(test, 0, 0, params->q_stride, q->n);
    if (n_kv > 0) { // else the layer reads the cache of another
        gi_test_poison_cache(test, gi_test_layer(test, 3), test->n_past, test->n_tokens);
    }
    gi_test_run(test);
    batch.q = gi_test_rows(test, 0, 0, params->q_stride, q->n);
    gi_test_expect_rows(test, "q", batch.q, params->q_stride, q->n);
    for (uint32_t i = 0; i < 2 * n_kv; i++) {
        gi_test_expect_cache_written(test, gi_test_layer(test, 3), i % 2 == 0, i / 2, test->n_past,
                                     test->n_tokens);
    }
    for (uint32_t i = 0; batch.q && i < 3; i++) {
        const uint32_t token = i == 0 ? 0 : i == 1 ? last / 2 : last;
        check_rope_token(test, &batch, token);
    }
}

//-- attention -------------------------------------------------------------------------------------

static double score_of(const struct gi_test *test, const float *q, const float *k, uint32_t n)
{
    const struct gi_attention_params *params = (const void *)test->params;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)q[i] * k[i];
    }
    sum *= params->scale;
    return gi_test_define(test, "SOFTCAP") ? params->softcap * tanh(sum / params->softcap) : sum;
}

// Returns ALiBi's slope of a head; 0 where there is none.
static double slope_of(const struct gi_test *test, const struct gi_kv_layer *layer, uint32_t head)
{
    const struct gi_attention_params *params = (const void *)test->params;
    uint32_t n = 1;
    while (2 * n <= layer->n_head) {
        n *= 2;
    }
    const double rate = (double)params->max_bias / n;
    return !gi_test_define(test, "ALIBI") ? 0
           : head < n                     ? exp2(-rate * (head + 1))
                                          : exp2(-rate / 2 * (2 * (head - n) + 1));
}

// Computes a head over n_key keys; own: index of the token's key; sink (NULL: none) takes a share
// of the weights. Errors of scores are far below the tolerance.
static void attend(struct gi_test *test, const float *q, const float *k, const float *v,
                   uint32_t n_key, uint32_t head_dim, double slope, uint32_t own, const float *sink,
                   struct gi_ref_value *out)
{
    double *scores = gi_test_memory(test, n_key, sizeof(*scores));
    double largest = -INFINITY, total = 0;
    for (uint32_t j = 0; scores && j < n_key; j++) {
        scores[j] =
            score_of(test, q, k + (size_t)j * head_dim, head_dim) - slope * fabs((double)j - own);
        largest = fmax(largest, scores[j]);
    }
    for (uint32_t j = 0; scores && j < n_key; j++) {
        const double weight = exp(scores[j] - largest);
        total += weight;
        for (uint32_t i = 0; i < head_dim; i++) {
            out[i].value += weight * v[(size_t)j * head_dim + i];
            out[i].magnitude += weight * fabs((double)v[(size_t)j * head_dim + i]);
        }
    }
    total += sink ? exp((double)*sink - largest) : 0;
    for (uint32_t i = 0; scores && i < head_dim; i++) {
        out[i].value /= total;
        out[i].magnitude /= total;
    }
}

// Keys and values of a head of the cache that a token sees.
struct seen {
    const float *k, *v; // (n, head_dim); NULL with has_failed
    uint32_t n, own;    // keys; the token's own among them
};

// Reads what a token sees of the first n_seen keys, and of a batch after them.
static struct seen read_seen(struct gi_test *test, const struct gi_kv_layer *layer,
                             uint32_t kv_head, uint32_t n_seen)
{
    const struct gi_attention_params *params = (const void *)test->params;
    const bool has_window = gi_test_define(test, "WINDOW") && params->window < n_seen;
    const uint32_t first = has_window ? n_seen - params->window : 0;
    const uint32_t n_all = test->n_past + test->n_tokens, after = params->after;
    const bool sees_all = gi_test_define(test, "AFTER") && after >= n_all - n_seen;
    const uint32_t n = (sees_all ? n_all : n_seen + after) - first;
    const float *k = gi_test_cache(test, layer, true, kv_head, first, n);
    const float *v = gi_test_cache(test, layer, false, kv_head, first, n);
    return (struct seen){.k = k, .v = v, .n = n, .own = n_seen - 1 - first};
}

// Compares a head of a token, whose query is q.
static void check_head(struct gi_test *test, const struct gi_kv_layer *layer, uint32_t head,
                       const float *q, const struct seen *seen, const float *got)
{
    const struct gi_attention_params *params = (const void *)test->params;
    const uint32_t n_memory = test->n_memory, n = layer->head_dim;
    struct gi_ref_value *expected = gi_test_memory(test, n, sizeof(*expected));
    const float *sink =
        gi_test_define(test, "SINKS") ? gi_test_floats(test, 2, params->sinks + head, 1) : NULL;
    if (expected && !test->has_failed) { // k and v are there
        attend(test, q, seen->k, seen->v, seen->n, n, slope_of(test, layer, head), seen->own, sink,
               expected);
    }
    for (uint32_t i = 0; expected && !test->has_failed && i < n; i++) {
        gi_test_expect(test, "out", (uint64_t)head * n + i, expected[i].value,
                       expected[i].magnitude, got[i]);
    }
    gi_test_rewind(test, n_memory);
}

// Compares the heads of a token, whose queries and results lie in rows: all of them or, where that
// takes long, some of those of the first, middle and last head of the cache.
static void check_heads(struct gi_test *test, const struct gi_kv_layer *layer, const float *q,
                        uint32_t n_seen, const float *out)
{
    enum { MOST_PRODUCTS = 1 << 21 };
    const uint32_t n = layer->head_dim, n_kv = layer->n_kv_head, each = layer->n_head / n_kv;
    const bool has_all = (uint64_t)layer->n_head * n * n_seen < MOST_PRODUCTS;
    for (uint32_t kv = 0; kv < n_kv; kv++) {
        const uint32_t n_memory = test->n_memory;
        if (!has_all && kv != 0 && kv != n_kv / 2 && kv != n_kv - 1) {
            continue;
        }
        const struct seen seen = read_seen(test, layer, kv, n_seen);
        for (uint32_t head = kv * each; head < (kv + 1) * each; head++) {
            if (has_all || head % each == kv % each || head == layer->n_head - 1) {
                check_head(test, layer, head, q + (size_t)head * n, &seen, out + (size_t)head * n);
            }
        }
        gi_test_rewind(test, n_memory);
    }
}

// Compares the heads of a step.
static const float *check_step(struct gi_test *test, const struct gi_kv_layer *layer,
                               const float *q)
{
    const size_t width = (size_t)layer->n_head * layer->head_dim;
    const float *out = gi_test_floats(test, 0, 0, width);
    gi_test_expect_written(test, "out", 0, out, width);
    if (out) {
        check_heads(test, layer, q, test->n_past + 1, out);
    }
    return test->has_failed ? NULL : out;
}

// Checks attention/attention_qkv.glsl, which takes q, k and v as their projection leaves them.
void gi_check_attention_qkv(struct gi_test *test)
{
    const struct gi_attention_params *params = (const void *)test->params;
    const struct gi_kv_layer *layer = gi_test_layer(test, 3);
    const bool has_norm = gi_test_define(test, "NORM");
    const uint32_t n = layer->head_dim, width = layer->n_head * n, n_rot = params->n_rot;
    gi_test_fill_cache(test, layer, test->n_past);
    const float *qkv = gi_test_floats(test, 1, 0, gi_test_size(test, 1));
    const float *vectors = gi_test_floats(test, 2, 0, gi_test_size(test, 2));
    struct gi_ref_value *turned = gi_test_memory(test, width, sizeof(*turned));
    float *q = gi_test_memory(test, width, sizeof(*q));
    gi_test_poison(test, 0, 0, width);
    gi_test_poison_cache(test, layer, test->n_past, 1);
    gi_test_run(test);
    if (test->has_failed) {
        return;
    }
    const float *rope = vectors + (size_t)4 * (params->rope + test->n_past * params->rope_stride);
    const float *q_gamma = has_norm ? vectors + (size_t)4 * params->q_gamma : NULL;
    const float *k_gamma = has_norm ? vectors + (size_t)4 * params->k_gamma : NULL;
    const uint32_t n_kv = layer->n_kv_head * n, normed_n = has_norm ? n : 0;
    const struct section own_q = {.qkv = qkv,
                                  .gamma = q_gamma,
                                  .begin = 4 * params->q_begin,
                                  .n = width,
                                  .width = normed_n,
                                  .eps = params->norm_eps};
    const struct section k = {.qkv = qkv,
                              .gamma = k_gamma,
                              .begin = 4 * params->k_begin,
                              .n = n_kv,
                              .width = normed_n,
                              .eps = params->norm_eps};
    const struct section v = {.qkv = qkv, .begin = 4 * params->v_begin, .n = n_kv};
    check_kv(test, &k, true, n, rope, n_rot, test->n_past);
    check_kv(test, &v, false, n, rope, n_rot, test->n_past);
    turn_section(&own_q, 0, width, n, rope, n_rot, turned);
    for (uint32_t i = 0; i < width; i++) {
        q[i] = (float)turned[i].value;
    }
    check_step(test, layer, q);
}

static void check_attention(struct gi_test *test)
{
    const struct gi_kv_layer *layer = gi_test_layer(test, 3);
    const uint32_t width = layer->n_head * layer->head_dim;
    const float *q = gi_test_floats(test, 3, 0, width);
    gi_test_poison(test, 0, 0, width);
    gi_test_run(test);
    const float *out = test->has_failed ? NULL : check_step(test, layer, q);
    if (out && gi_test_define(test, "WRITE_SUMS")) {
        const float *sums = gi_test_floats(test, 0, (uint64_t)(width + 63) / 64 * 64, width / 16);
        gi_test_expect_sums(test, out, sums, width);
    }
}

// A short text has one range of keys, a long one has several.
void gi_check_attention(struct gi_test *test)
{
    enum { SHORT_TEXT = 77 };
    gi_test_fill_cache(test, gi_test_layer(test, 3), test->n_past);
    if (!test->joint && test->n_past > SHORT_TEXT) {
        const struct gi_step_state state = test->state;
        const uint32_t n_memory = test->n_memory;
        test->state.n_past = test->run_past = SHORT_TEXT;
        gi_test_write_state(test);
        check_attention(test);
        gi_test_rewind(test, n_memory);
        test->state = state;
        test->run_past = state.n_past;
        gi_test_write_state(test);
    }
    check_attention(test);
}

void gi_check_attention_batch(struct gi_test *test)
{
    const struct gi_attention_params *params = (const void *)test->params;
    const struct gi_kv_layer *layer = gi_test_layer(test, 3);
    const bool is_half = gi_test_define(test, "HALF") || test->key->id == GI_PROGRAM_ATTENTION_HALF;
    const uint32_t width = layer->n_head * layer->head_dim;
    const uint32_t tokens[] = {0, test->n_tokens / 2, test->n_tokens - 1};
    gi_test_fill_cache(test, layer, test->n_past);
    if (!is_half) {
        gi_test_poison_rows(test, 0, 0, params->out_stride, width);
    }
    gi_test_run(test);
    const float *q = gi_test_rows(test, 1, 0, params->q_stride, width);
    const float *rows = is_half ? NULL : gi_test_rows(test, 0, 0, params->out_stride, width);
    gi_test_expect_rows(test, "out", rows, params->out_stride, width);
    for (uint32_t i = 0; q && i < 3; i++) {
        const uint32_t token = tokens[i], n_memory = test->n_memory;
        const float *out =
            rows ? rows + (uint64_t)token * params->out_stride
                 : gi_test_half_row(test, 0, 0, token, width, params->out_stride / GI_HALF_COLUMNS);
        if (out && !test->has_failed) {
            check_heads(test, layer, q + (uint64_t)token * params->q_stride,
                        test->n_past + token + 1, out);
        }
        gi_test_rewind(test, n_memory);
    }
}
