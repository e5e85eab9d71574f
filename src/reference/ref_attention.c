// Attention of a step and of a batch: glsl/attention.
#include "base/round.h"
#include "glsl/attention/attention_params.h"
#include "ops/gemm/half_rows.h"
#include "reference/places/ref_half_rows.h"
#include "reference/ref_rope.h"
#include "reference/reference.h"

#include <math.h>

// A layer as a dispatch sees it.
struct layer {
    const struct gi_attention_params *params;
    uint32_t head_dim, width; // width: of all heads
    struct gi_ref_cache k, v;
};

static struct layer find_layer(const struct gi_ref *ref)
{
    const struct gi_attention_params *p = ref->params;
    const uint32_t head_dim = gi_ref_define(ref, "HEAD_DIM");
    const uint64_t begin = 4ull * ref->slot * p->slot_cache;
    return (struct layer){
        p,
        head_dim,
        p->n_head * head_dim,
        {"k", 3, gi_ref_define(ref, "K_TYPE"), head_dim, p->n_ctx, begin + 4ull * p->k,
         begin + p->k_scale},
        {"v", 3, gi_ref_define(ref, "V_TYPE"), head_dim, p->n_ctx, begin + 4ull * p->v,
         begin + p->v_scale},
    };
}

static void fill_cache(struct gi_ref *ref, const struct layer *layer, uint32_t n)
{
    for (uint32_t head = 0; head < layer->params->n_kv_head; head++) {
        gi_ref_cache_fill(ref, &layer->k, head, n);
        gi_ref_cache_fill(ref, &layer->v, head, n);
    }
}

// Returns ALiBi's slope of a head; 0 without ALiBi.
static double slope_of(const struct gi_ref *ref, const struct layer *layer, uint32_t head)
{
    uint32_t n = 1;
    while (2 * n <= layer->params->n_head) {
        n *= 2;
    }
    const double rate = (double)layer->params->max_bias / n;
    return !gi_ref_define(ref, "ALIBI") ? 0
           : head < n                   ? exp2(-rate * (head + 1))
                                        : exp2(-rate / 2 * (2 * (head - n) + 1));
}

// Keys and values of a head of the cache that a token sees.
struct seen {
    const float *k, *v; // (n, head_dim)
    uint32_t n, own;    // keys; the token's own among them
};

static struct seen read_seen(struct gi_ref *ref, const struct layer *layer, uint32_t kv_head,
                             uint32_t n_seen)
{
    const uint32_t window = layer->params->window, after = layer->params->after;
    const uint32_t first = gi_ref_define(ref, "WINDOW") && window < n_seen ? n_seen - window : 0;
    const uint32_t n_all = ref->n_past + ref->n_tokens;
    const bool sees_all = gi_ref_define(ref, "AFTER") && after >= n_all - n_seen;
    const uint32_t n = (sees_all ? n_all : n_seen + after) - first;
    return (struct seen){gi_ref_cache_rows(ref, &layer->k, kv_head, first, n),
                         gi_ref_cache_rows(ref, &layer->v, kv_head, first, n), n,
                         n_seen - 1 - first};
}

// Computes the score of key j.
static struct gi_ref_value score_of(const struct gi_ref *ref, const struct layer *layer,
                                    const float *q, const struct seen *seen, uint32_t j,
                                    double slope)
{
    const double softcap = layer->params->softcap, bias = slope * fabs((double)j - seen->own);
    struct gi_ref_value sum = {0, 0};
    for (uint32_t i = 0; i < layer->head_dim; i++) {
        const double product =
            (double)layer->params->scale * q[i] * seen->k[(size_t)j * layer->head_dim + i];
        sum.value += product;
        sum.magnitude += fabs(product);
    }
    sum.value = gi_ref_define(ref, "SOFTCAP") ? softcap * tanh(sum.value / softcap) : sum.value;
    return (struct gi_ref_value){sum.value - bias, sum.magnitude + bias};
}

// Computes a head of a token, whose query is q. Returns the largest magnitude of a score: an error
// d of a score is one of d relative in its weight.
static double attend(struct gi_ref *ref, const struct layer *layer, uint32_t head, const float *q,
                     const struct seen *seen, struct gi_ref_value *out)
{
    const uint32_t n = layer->head_dim;
    const double slope = slope_of(ref, layer, head);
    const float *sink =
        gi_ref_define(ref, "SINKS") ? gi_ref_floats(ref, 2, layer->params->sinks + head, 1) : NULL;
    double *scores = gi_ref_memory(ref, seen->n, sizeof(*scores));
    double largest = -INFINITY, magnitude = 0, total = 0;
    for (uint32_t j = 0; !ref->has_failed && j < seen->n; j++) {
        const struct gi_ref_value score = score_of(ref, layer, q, seen, j, slope);
        scores[j] = score.value;
        largest = fmax(largest, score.value);
        magnitude = fmax(magnitude, score.magnitude);
    }
    for (uint32_t j = 0; !ref->has_failed && j < seen->n; j++) {
        const double weight = exp(scores[j] - largest);
        total += weight;
        for (uint32_t i = 0; i < n; i++) {
            out[i].value += weight * seen->v[(size_t)j * n + i];
            out[i].magnitude += weight * fabs((double)seen->v[(size_t)j * n + i]);
        }
    }
    total += sink ? exp((double)*sink - largest) : 0;
    for (uint32_t i = 0; i < n; i++) {
        out[i].value /= total;
        out[i].magnitude /= total;
    }
    return magnitude;
}

// Returns true if a head is compared: each of those with n products or, where all have many, some
// of the first, middle and last head of the cache.
static bool is_chosen(const struct gi_ref *ref, const struct layer *layer, uint32_t head,
                      uint64_t n)
{
    enum { MOST_PRODUCTS = 1 << 21 };
    const uint32_t n_kv = layer->params->n_kv_head, each = layer->params->n_head / n_kv;
    const uint32_t kv = head / each;
    const bool is_spread = kv == 0 || kv == n_kv / 2 || kv == n_kv - 1;
    return !ref->is_sampled || layer->params->n_head * n < MOST_PRODUCTS ||
           (is_spread && (head % each == kv % each || head == layer->params->n_head - 1));
}

// The place of a token's results: floats from `at` on or, with n_tile, its row of tiles in f16.
struct output {
    uint64_t at;
    uint32_t token, n_tile;
};

static void expect_head(struct gi_ref *ref, const struct output *out, uint32_t begin,
                        const struct gi_ref_value *values, uint32_t n)
{
    const struct gi_ref_rows_form tiles = {gi_ref_is_small_half(ref->key) ? GI_HALF_FORM_SMALL
                                                                          : GI_HALF_FORM_LARGE,
                                           0, 0, out->n_tile};
    if (out->n_tile > 0) {
        gi_ref_expect_row(ref, "out", &tiles, out->token, begin, values, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        gi_ref_expect(ref, "out", 0, out->at + begin + i, values[i].value, values[i].magnitude);
    }
}

// Returns the roundings of a result where products are taken in f16, with an epsilon of 2^13
// FLT_EPSILON. Weights and results take about one epsilon. q and the sums of 32 pairs put a score
// off by 0.2 epsilons for each unit of its magnitude, root mean square, and its weight by as much
// relative to itself; the largest of 10^6 errors is 2.5 times that.
static double half_roundings(double score)
{
    return (1 + score / 2) * (1 << 13);
}

// Lists the heads of a token that sees n_seen keys, its own included. score_roundings: of a score.
static void expect_token(struct gi_ref *ref, const struct layer *layer, const float *q,
                         uint32_t n_seen, double score_roundings, const struct output *out)
{
    const uint32_t n = layer->head_dim, each = layer->params->n_head / layer->params->n_kv_head;
    struct seen seen = {0};
    const size_t n_memory = ref->memory.count;
    size_t n_head_memory = n_memory;
    uint32_t kv = UINT32_MAX;
    for (uint32_t head = 0; !ref->has_failed && head < layer->params->n_head; head++) {
        if (!is_chosen(ref, layer, head, (uint64_t)n * n_seen)) {
            continue;
        }
        if (head / each != kv) {
            gi_ref_rewind(ref, n_memory);
            kv = head / each;
            seen = read_seen(ref, layer, kv, n_seen);
            n_head_memory = ref->memory.count;
        }
        struct gi_ref_value *values = gi_ref_memory(ref, n, sizeof(*values));
        if (!values) {
            return;
        }
        const double score = attend(ref, layer, head, q + (size_t)head * n, &seen, values);
        ref->roundings = score_roundings * score * (4 + sqrt(n)) + 16 + sqrt(seen.n) +
                         (ref->key->id == GI_PROGRAM_ATTENTION_HALF ? half_roundings(score) : 0);
        expect_head(ref, out, head * n, values, n);
        gi_ref_rewind(ref, n_head_memory);
    }
    gi_ref_rewind(ref, n_memory);
}

// Lists what a step leaves in its scratch besides the results, whose sums follow them.
static uint64_t add_scratch(struct gi_ref *ref, const struct layer *layer)
{
    const struct gi_attention_params *p = layer->params;
    const uint64_t begin = (uint64_t)ref->slot * p->slot_scratch;
    const uint64_t end =
        p->slot_scratch > 0 ? p->slot_scratch : ref->dispatch->bindings[0].size / sizeof(float);
    gi_ref_expect_written(ref, "out", 0, begin, layer->width);
    gi_ref_add_scratch(ref, 0, begin + p->partial, end - p->partial);
    return begin;
}

static void expect_sums(struct gi_ref *ref)
{
    const struct layer layer = find_layer(ref);
    const uint64_t begin = (uint64_t)ref->slot * layer.params->slot_scratch;
    gi_ref_expect_sums(ref, 0, begin, layer.width / 16 * 16, begin + gi_round_up(layer.width, 64));
}

void gi_ref_attention(struct gi_ref *ref)
{
    const struct layer layer = find_layer(ref);
    const struct output out = {.at = add_scratch(ref, &layer)};
    fill_cache(ref, &layer, ref->n_past + 1);
    const float *q =
        gi_ref_floats(ref, 3, 4ull * ref->slot * layer.params->slot_cache, layer.width);
    if (q) {
        expect_token(ref, &layer, q, ref->n_past + 1, 2, &out);
    }
    ref->after = gi_ref_define(ref, "WRITE_SUMS") ? expect_sums : NULL;
}

void gi_ref_attention_batch(struct gi_ref *ref)
{
    const struct layer layer = find_layer(ref);
    const uint32_t stride = layer.params->out_stride, last = ref->n_tokens - 1;
    const bool is_half = gi_ref_define(ref, "HALF") || ref->key->id == GI_PROGRAM_ATTENTION_HALF;
    fill_cache(ref, &layer, ref->n_past + ref->n_tokens);
    const float *q = gi_ref_rows(ref, 1, 0, layer.params->q_stride, layer.width);
    for (uint32_t m = 0; !is_half && m <= last; m++) {
        gi_ref_expect_written(ref, "out", 0, (uint64_t)m * stride, layer.width);
    }
    for (uint32_t m = 0; q && !ref->has_failed && m <= last; m++) {
        const struct output out = {(uint64_t)m * stride, m, is_half ? stride / GI_HALF_COLUMNS : 0};
        if (!ref->is_sampled || m == 0 || m == ref->n_tokens / 2 || m == last) {
            expect_token(ref, &layer, q + (size_t)m * layer.params->q_stride, ref->n_past + m + 1,
                         2, &out);
        }
    }
}

//-- q, k and v as their projection leaves them ----------------------------------------------------

// q, k and v of a step.
struct projected {
    const float *row, *rope;
    struct gi_ref_section sections[3];
};

static struct projected read_projected(struct gi_ref *ref, const struct layer *layer)
{
    const struct gi_attention_params *p = layer->params;
    const uint32_t n = layer->head_dim, n_kv = p->n_kv_head * n;
    const uint32_t width = gi_ref_define(ref, "NORM") ? n : 0;
    // In pair order, the last 16 rows of a section are in use even where it has fewer values.
    struct projected projected = {
        gi_ref_floats(ref, 1, (uint64_t)ref->slot * p->q_stride,
                      4ull * p->v_begin + gi_round_up(n_kv, 16)),
        gi_ref_floats(ref, 2, 4ull * (p->rope + (uint64_t)ref->n_past * p->rope_stride), p->n_rot),
        {{NULL, 4 * p->q_begin, layer->width, width, p->norm_eps, false, false},
         {NULL, 4 * p->k_begin, n_kv, width, p->norm_eps, false, false},
         {NULL, 4 * p->v_begin, n_kv, 0, 0, false, false}},
    };
    if (width > 0) {
        projected.sections[0].gamma = gi_ref_floats(ref, 2, 4ull * p->q_gamma, n);
        projected.sections[1].gamma = gi_ref_floats(ref, 2, 4ull * p->k_gamma, n);
    }
    return projected;
}

// Takes the token's own key and value as they were rounded into the cache.
static void expect_out(struct gi_ref *ref)
{
    const struct layer layer = find_layer(ref);
    const struct projected projected = read_projected(ref, &layer);
    const struct output out = {.at = (uint64_t)ref->slot * layer.params->slot_scratch};
    struct gi_ref_value *turned = gi_ref_memory(ref, layer.width, sizeof(*turned));
    float *q = gi_ref_memory(ref, layer.width, sizeof(*q));
    if (ref->has_failed) {
        return;
    }
    gi_ref_turn_section(&projected.sections[0], projected.row, 0, layer.width, layer.head_dim,
                        projected.rope, layer.params->n_rot, turned);
    for (uint32_t i = 0; i < layer.width; i++) {
        q[i] = (float)turned[i].value;
    }
    // q is rounded when it is normed and turned.
    expect_token(ref, &layer, q, ref->n_past + 1, 4, &out);
}

void gi_ref_attention_qkv(struct gi_ref *ref)
{
    const struct layer layer = find_layer(ref);
    add_scratch(ref, &layer);
    fill_cache(ref, &layer, ref->n_past);
    const struct projected projected = read_projected(ref, &layer);
    for (uint32_t head = 0; head < layer.params->n_kv_head; head++) {
        gi_ref_cache_written(ref, &layer.k, head, ref->n_past, 1);
        gi_ref_cache_written(ref, &layer.v, head, ref->n_past, 1);
    }
    if (!ref->has_failed) {
        gi_ref_expect_kv(ref, &layer.k, &projected.sections[1], projected.row, projected.rope,
                         layer.params->n_rot, ref->n_past);
        gi_ref_expect_kv(ref, &layer.v, &projected.sections[2], projected.row, projected.rope, 0,
                         ref->n_past);
    }
    ref->after = expect_out;
}
