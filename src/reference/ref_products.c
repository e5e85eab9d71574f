// Products of one row with weights: glsl/gemv and the products of glsl/experts.
#include "base/round.h"
#include "glsl/experts/experts_params.h"
#include "glsl/gemv/gemv_params.h"
#include "ops/record/weight.h"
#include "reference/places/ref_adapter.h"
#include "reference/ref_rope.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

// The first fields of the params of all kernels of gemv/gemv.glsl, and those of a norm.
struct gemv_params {
    uint32_t n_block, n_pair, source, bias, ssq, n_ssq;
    float inv_n_embd, norm_eps;
};

// An input, and what its products are multiplied by.
struct source {
    const float *x; // (n_col)
    double scale;
    uint32_t bias; // at binding 3; GI_NO_OFFSET: none
};

// Sums of a residual in two parts x = r + s u (ops/record/stream.h): of r r, r u, u u and y y.
struct part_sums {
    double rr, ru, uu, yy;
};

static struct part_sums add_part_sums(struct gi_ref *ref, uint32_t binding, uint64_t at, uint32_t n)
{
    const float *sums = gi_ref_floats(ref, binding, at, 4 * (size_t)n);
    struct part_sums total = {0, 0, 0, 0};
    for (uint32_t i = 0; sums && i < n; i++) {
        total.rr += sums[4 * i];
        total.ru += sums[4 * i + 1];
        total.uu += sums[4 * i + 2];
        total.yy += sums[4 * i + 3];
    }
    return total;
}

static double inv_rms(double ssq, double inv_n, double eps)
{
    return 1 / sqrt(ssq * inv_n + eps);
}

// Writes the sums of x, which a kernel with SUMS reads after x: the entry that computes them may
// not have run.
static void write_sums(struct gi_ref *ref, uint64_t begin, const float *x)
{
    const struct gemv_params *p = ref->params;
    const uint32_t n = p->n_block * GI_QUANT_BLOCK;
    float *sums = gi_ref_memory(ref, n / 16, sizeof(*sums));
    for (uint32_t i = 0; sums && i < ref->n_col; i++) {
        sums[i / 16] += x[i];
    }
    gi_ref_write(ref, 1, begin + gi_round_up(n, 64), n / 16, sums);
}

// Returns the number of splits of k, which a define has.
static uint32_t count_splits(const struct gi_ref *ref, const char *define)
{
    const uint32_t n = gi_ref_define(ref, define);
    return n > 0 ? n : 1;
}

// Writes the products of matrix A of adapters, as the entry that computes them may not have run.
static void fill_adapter(struct gi_ref *ref)
{
    const uint32_t rank = gi_ref_define(ref, "ADAPTER_RANK");
    const uint64_t at = 4ull * gi_ref_define(ref, "ADAPTER_AT") + gi_adapter_scales(rank);
    if (rank > 0 && ref->is_sampled) {
        for (uint32_t i = 0; i < count_splits(ref, "ADAPTER_SPLITS"); i++) {
            const uint64_t first = at + 4ull * i * gi_ref_define(ref, "ADAPTER_STRIDE");
            gi_ref_fill(ref, 1, first, rank, 0x80FFFFFFu, 0x3F000000u);
        }
    }
}

// Adds the term of adapters to row `row` of the product.
static void add_adapter(struct gi_ref *ref, uint32_t row, struct gi_ref_value *y)
{
    const struct gemv_params *p = ref->params;
    const uint32_t rank = gi_ref_define(ref, "ADAPTER_RANK");
    const uint64_t at = 4ull * gi_ref_define(ref, "ADAPTER_AT");
    const uint32_t *tile =
        rank > 0 ? gi_ref_adapter_tile(ref, p->bias + 16ull * p->n_pair, row, rank) : NULL;
    if (!tile) {
        return;
    }
    const uint32_t n = gi_ref_adapter_columns(tile, row, rank);
    const float *scales = gi_ref_floats(ref, 1, at, rank);
    for (uint32_t i = 0; i < count_splits(ref, "ADAPTER_SPLITS"); i++) {
        const uint64_t first =
            at + gi_adapter_scales(rank) + 4ull * i * gi_ref_define(ref, "ADAPTER_STRIDE");
        const float *t = gi_ref_floats(ref, 1, first, n);
        if (!ref->has_failed) {
            const struct gi_ref_value term = gi_ref_adapter_row(tile, row, rank, scales, t);
            y->value += term.value;
            y->magnitude += term.magnitude;
        }
    }
}

// Reads x from vec4 `at` of binding 1. F16 products and sums of nibbles that stand 8 too high and
// bytes 128 too high have more roundings.
static struct source read_source(struct gi_ref *ref, uint64_t at, bool has_norm)
{
    const struct gemv_params *p = ref->params;
    const bool is_parted = gi_ref_define(ref, "PARTED"), has_bias = gi_ref_define(ref, "HAS_BIAS");
    float *x = gi_ref_memory(ref, ref->n_col, sizeof(*x));
    const float *first = gi_ref_floats(ref, 1, 4 * at, ref->n_col);
    struct source source = {x, 1, has_bias ? p->bias : GI_NO_OFFSET};
    struct part_sums sums = {0, 0, 0, 0};
    double second_scale = 0;
    const float *second = NULL;
    if (is_parted) {
        sums = add_part_sums(ref, 1, 4ull * p->ssq, p->n_ssq);
        second_scale = inv_rms(sums.yy, p->inv_n_embd, p->norm_eps);
        second = gi_ref_floats(
            ref, 1, 4 * at + gi_round_up((uint64_t)p->n_block * GI_QUANT_BLOCK, 64), ref->n_col);
    }
    for (uint32_t i = 0; !ref->has_failed && i < ref->n_col; i++) {
        x[i] = first[i] + (second ? (float)(second_scale * second[i]) : 0);
    }
    if (!ref->has_failed && gi_ref_define(ref, "SUMS")) {
        write_sums(ref, 4 * at, x);
    }
    if (has_norm) {
        const float *ssq = is_parted ? NULL : gi_ref_floats(ref, 1, 4ull * p->ssq, p->n_ssq);
        double sum = sums.rr + second_scale * (2 * sums.ru + second_scale * sums.uu);
        for (uint32_t i = 0; ssq && i < p->n_ssq; i++) {
            sum += ssq[i];
        }
        source.scale = inv_rms(sum, p->inv_n_embd, p->norm_eps);
    }
    ref->roundings = gi_ref_define(ref, "HALF") ? 8 * 4096 : ref->roundings;
    fill_adapter(ref);
    return source;
}

// Computes a row of the product. Returns false if the row is not known. A pipelined product adds
// the term of adapters before it multiplies by 1 / rms, since A has read x without it.
static bool project(struct gi_ref *ref, uint32_t row, const struct source *source,
                    struct gi_ref_value *y)
{
    if (!gi_ref_dot(ref, row, source->x, y)) {
        return false;
    }
    const bool is_normed = gi_ref_define(ref, "PIPELINED");
    if (is_normed) {
        add_adapter(ref, row, y);
    }
    y->value *= source->scale;
    y->magnitude *= fabs(source->scale);
    const float *bias =
        source->bias != GI_NO_OFFSET ? gi_ref_floats(ref, 3, source->bias + row, 1) : NULL;
    if (bias) {
        y->value += *bias;
        y->magnitude += fabs((double)*bias);
    }
    if (!is_normed) {
        add_adapter(ref, row, y);
    }
    return !ref->has_failed;
}

// Returns the number of partial results of a dispatch: one a group, or an invocation.
static uint32_t count_partials(const struct gi_ref *ref)
{
    return ref->dispatch->grid.size[0] * (gi_ref_define(ref, "WG_SIZE") == 8 ? 8 : 1);
}

static uint32_t rows_left(uint32_t first, uint32_t n_pair, uint32_t n)
{
    const uint32_t left = n > first ? n - first : 0;
    return 16 * n_pair < left ? 16 * n_pair : left;
}

// Returns the input with zeros outside of a split of k.
static struct source split_of(struct gi_ref *ref, const struct source *source, uint32_t split)
{
    const uint32_t n = ref->n_col / count_splits(ref, "K_SPLITS");
    float *x = gi_ref_memory(ref, ref->n_col, sizeof(*x));
    for (uint32_t i = split * n; !ref->has_failed && i < (split + 1) * n; i++) {
        x[i] = source->x[i];
    }
    return (struct source){x, source->scale, source->bias};
}

void gi_ref_gemv_plain(struct gi_ref *ref)
{
    const struct gi_gemv_plain_params *p = ref->params;
    const struct source all = read_source(ref, p->source, gi_ref_define(ref, "NORM"));
    const uint32_t n_split = count_splits(ref, "K_SPLITS"), n_rows = 16 * p->n_pair;
    gi_ref_expect_written(ref, "y", 0, p->row_begin, (uint64_t)n_split * n_rows);
    for (uint32_t split = 0; split < n_split; split++) {
        const struct source source = n_split > 1 ? split_of(ref, &all, split) : all;
        for (uint32_t i = 0; !ref->has_failed && i < n_rows; i++) {
            struct gi_ref_value y;
            if (project(ref, i, &source, &y)) {
                gi_ref_expect(ref, "y", 0, p->row_begin + split * n_rows + i, y.value, y.magnitude);
            }
        }
    }
}

//-- into the residual -----------------------------------------------------------------------------

// Lists the sum of the squares of the residual that was written, and the sums of the norm.
static void expect_residual_sums(struct gi_ref *ref)
{
    const struct gi_gemv_residual_params *p = ref->params;
    const uint32_t n = rows_left(p->row_begin, p->n_pair, p->n_embd);
    const float *residual = gi_ref_floats(ref, 0, p->residual + p->row_begin, n);
    double sum = 0;
    for (uint32_t i = 0; residual && i < n; i++) {
        sum += (double)residual[i] * residual[i];
    }
    ref->roundings = 64;
    gi_ref_expect_sum(ref, "ssq", 0, p->ssq, count_partials(ref), sum, sum);
    if (gi_ref_define(ref, "WRITE_SUMS")) {
        gi_ref_expect_sums(ref, 0, p->norm + p->row_begin, n,
                           p->norm + gi_round_up(p->n_embd, 64) + p->row_begin / 16);
    }
}

void gi_ref_gemv_residual(struct gi_ref *ref)
{
    const struct gi_gemv_residual_params *p = ref->params;
    const uint32_t first = p->row_begin, n = rows_left(first, p->n_pair, p->n_embd);
    const struct source source = read_source(ref, p->source, false);
    const float *before = gi_ref_floats(ref, 0, p->residual + first, n);
    const float *gamma =
        gi_ref_define(ref, "HAS_GAMMA") ? gi_ref_floats(ref, 3, p->gamma, n) : NULL;
    gi_ref_expect_written(ref, "norm", 0, p->norm + first, n);
    gi_ref_add_scratch(ref, 0, p->residual + first, n); // of a sampled reference
    for (uint32_t i = 0; !ref->has_failed && i < n; i++) {
        struct gi_ref_value y;
        if (project(ref, i, &source, &y)) {
            const double value = before[i] + p->scale * y.value, weight = gamma ? gamma[i] : 1;
            const double magnitude = fabs((double)before[i]) + fabs(p->scale * y.magnitude);
            gi_ref_expect(ref, "residual", 0, p->residual + first + i, value, magnitude);
            gi_ref_expect(ref, "norm", 0, p->norm + first + i, value * weight,
                          magnitude * fabs(weight));
        }
    }
    ref->after = expect_residual_sums;
}

// Both parts of a residual of n values, or of its norm.
struct both {
    const float *first, *second;
};

static struct both read_both(struct gi_ref *ref, uint32_t begin, uint32_t n)
{
    const struct gi_gemv_post_params *p = ref->params;
    const uint64_t at = (uint64_t)begin + p->row_begin;
    return (struct both){gi_ref_floats(ref, 0, at, n), gi_ref_floats(ref, 0, at + p->u_offset, n)};
}

// Returns the number that the residual is multiplied by.
static double post_scale(struct gi_ref *ref)
{
    const struct gi_gemv_post_params *p = ref->params;
    const float *scale = gi_ref_define(ref, "SCALED") ? gi_ref_floats(ref, 3, p->scale, 1) : NULL;
    return scale ? *scale : 1;
}

// Lists the sums of both parts as they were written, u = c post y.
static void expect_part_sums(struct gi_ref *ref)
{
    const struct gi_gemv_post_params *p = ref->params;
    const uint32_t n = rows_left(p->row_begin, p->n_pair, p->n_embd), n_part = count_partials(ref);
    const struct both residual = read_both(ref, p->residual, n);
    const float *post = gi_ref_floats(ref, 3, p->post, n);
    const double c = post_scale(ref);
    const struct part_sums found = add_part_sums(ref, 0, p->sums, n_part);
    struct part_sums sums = {0, 0, 0, 0};
    double magnitude = 0;
    bool has_all = true; // no weight is 0
    for (uint32_t i = 0; !ref->has_failed && i < n; i++) {
        const double r = residual.first[i], u = residual.second[i], weight = c * post[i];
        sums.rr += r * r;
        sums.ru += r * u;
        sums.uu += u * u;
        sums.yy += weight != 0 ? u / weight * (u / weight) : 0;
        magnitude += fabs(r * u);
        has_all = has_all && weight != 0;
    }
    ref->roundings = 64;
    gi_ref_expect_found(ref, "sum of r r", 0, p->sums, 1, (struct gi_ref_value){sums.rr, sums.rr},
                        found.rr);
    gi_ref_expect_found(ref, "sum of r u", 0, p->sums, 1, (struct gi_ref_value){sums.ru, magnitude},
                        found.ru);
    gi_ref_expect_found(ref, "sum of u u", 0, p->sums, 1, (struct gi_ref_value){sums.uu, sums.uu},
                        found.uu);
    if (has_all) {
        gi_ref_expect_found(ref, "sum of y y", 0, p->sums, 1,
                            (struct gi_ref_value){sums.yy, sums.yy}, found.yy);
    }
}

static void expect_both(struct gi_ref *ref, const char *what, uint64_t at,
                        const struct gi_ref_value both[2], double weight)
{
    const struct gi_gemv_post_params *p = ref->params;
    gi_ref_expect(ref, what, 0, at, both[0].value * weight, both[0].magnitude * fabs(weight));
    gi_ref_expect(ref, what, 0, at + p->u_offset, both[1].value * weight,
                  both[1].magnitude * fabs(weight));
}

void gi_ref_gemv_post(struct gi_ref *ref)
{
    const struct gi_gemv_post_params *p = ref->params;
    const uint32_t n = rows_left(p->row_begin, p->n_pair, p->n_embd);
    struct source source = {gi_ref_floats(ref, 1, 4ull * p->source, ref->n_col), 1,
                            gi_ref_define(ref, "HAS_BIAS") ? p->bias : GI_NO_OFFSET};
    const struct both before = read_both(ref, p->residual, n);
    const float *post = gi_ref_floats(ref, 3, p->post, n);
    const float *gamma =
        gi_ref_define(ref, "HAS_GAMMA") ? gi_ref_floats(ref, 3, p->gamma, n) : NULL;
    const double c = post_scale(ref);
    double old = 0;
    if (gi_ref_define(ref, "HAS_UPDATE")) {
        const struct part_sums sums = add_part_sums(ref, 0, p->old_sums, p->n_old);
        old = inv_rms(sums.yy, p->inv_n_embd, p->norm_eps);
    }
    ref->roundings = gi_ref_define(ref, "HALF") ? 8 * 4096 : ref->roundings;
    fill_adapter(ref);
    gi_ref_expect_written(ref, "sums", 0, p->sums, 4ull * count_partials(ref));
    for (uint32_t i = 0; !ref->has_failed && i < n; i++) {
        struct gi_ref_value y;
        if (project(ref, i, &source, &y)) {
            const double r = before.first[i], u = old * before.second[i], weight = c * post[i];
            const struct gi_ref_value both[2] = {{c * (r + u), fabs(c) * (fabs(r) + fabs(u))},
                                                 {weight * y.value, fabs(weight) * y.magnitude}};
            expect_both(ref, "residual", p->residual + p->row_begin + i, both, 1);
            if (gamma) {
                expect_both(ref, "norm", p->norm + p->row_begin + i, both, gamma[i]);
            }
        }
    }
    ref->after = expect_part_sums;
}

//-- gated networks --------------------------------------------------------------------------------

// Computes element i of a gated network from the rows of a part, or of one of its experts from
// `first` on: SIDE of glsl/norm/glu.glsl. before is what lies in its place.
static bool gate(struct gi_ref *ref, uint32_t first, uint32_t i, const struct source *source,
                 const struct gi_xielu *xielu, float before, struct gi_ref_value *act)
{
    const struct gemv_params *p = ref->params;
    const uint32_t side = gi_ref_define(ref, "SIDE"), activation = gi_ref_define(ref, "ACTIVATION");
    struct gi_ref_value g, u = {side == 1 ? 1 : before, side == 1 ? 0 : fabs((double)before)};
    if (!project(ref, first + i, source, &g) ||
        (side == 0 && !project(ref, first + 8 * p->n_pair + i, source, &u))) {
        return false;
    }
    if (side == 2) {
        g = (struct gi_ref_value){gi_ref_linear_factor(activation, g.value), g.magnitude};
    } else {
        const double square =
            activation == GI_ACTIVATION_RELU_SQUARED ? 1 : fabs((double)xielu->square);
        // The slope of the activations but those with a square is below 1.2.
        const double slope = 1.2 + fabs((double)xielu->slope) + fabs((double)xielu->fall) +
                             square * (2 * fabs(g.value) + g.magnitude);
        g.value = gi_ref_activate(activation, xielu, g.value);
        g.magnitude = slope * g.magnitude + fabs(g.value);
    }
    if (side == 0) {
        u.value = gi_ref_linear_factor(activation, u.value);
    }
    struct gi_ref_value *linear = side == 2 ? &g : &u;
    linear->magnitude += (side == 0 || side == 2) && activation == GI_ACTIVATION_CLAMPED ? 1 : 0;
    *act = (struct gi_ref_value){g.value * u.value,
                                 g.magnitude * fabs(u.value) + fabs(g.value) * u.magnitude};
    return true;
}

// Returns the rows of a part of gate and up, at most `left`.
static uint32_t count_gates(const struct gi_ref *ref, uint32_t left)
{
    const struct gemv_params *p = ref->params;
    const uint32_t n = p->n_pair * (gi_ref_define(ref, "SIDE") == 0 ? 8 : 16);
    return n < left ? n : left;
}

static void expect_act_sums(struct gi_ref *ref)
{
    const struct gi_gemv_glu_params *p = ref->params;
    gi_ref_expect_sums(ref, 0, p->ff_begin, count_gates(ref, p->n_ff - p->ff_begin),
                       gi_round_up(p->n_ff, 64) + p->ff_begin / 16);
}

void gi_ref_gemv_glu(struct gi_ref *ref)
{
    const struct gi_gemv_glu_params *p = ref->params;
    const struct gi_xielu xielu = {p->square, p->fall, p->slope, p->edge};
    const bool has_xielu = gi_ref_define(ref, "ACTIVATION") == GI_ACTIVATION_XIELU;
    const uint32_t side = gi_ref_define(ref, "SIDE"), n = count_gates(ref, p->n_ff - p->ff_begin);
    const struct source source = read_source(ref, p->source, gi_ref_define(ref, "NORM"));
    const float *before = side < 2 ? NULL : gi_ref_floats(ref, 0, p->ff_begin, n);
    gi_ref_expect_written(ref, "act", 0, p->ff_begin, n);
    for (uint32_t i = 0; !ref->has_failed && i < n; i++) {
        struct gi_ref_value act;
        if (gate(ref, 0, i, &source, has_xielu ? &xielu : &(struct gi_xielu){0},
                 before ? before[i] : 0, &act)) {
            gi_ref_expect(ref, "act", 0, p->ff_begin + i, act.value, act.magnitude);
        }
    }
    ref->after = gi_ref_define(ref, "WRITE_SUMS") ? expect_act_sums : NULL;
}

//-- q, k and v ------------------------------------------------------------------------------------

void gi_ref_gemv_qkv(struct gi_ref *ref)
{
    const struct gi_gemv_qkv_params *p = ref->params;
    const uint32_t half = gi_ref_define(ref, "HEAD_DIM") / 2;
    const uint32_t first = p->pair_begin, end = first + 8 * p->n_pair;
    const struct gi_ref_cache k = {"k",  0, gi_ref_define(ref, "K_TYPE"), 2 * half, p->n_ctx,
                                   p->k, 0};
    const struct gi_ref_cache v = {"v",  0, gi_ref_define(ref, "V_TYPE"), 2 * half, p->n_ctx,
                                   p->v, 0};
    const struct source source = read_source(ref, p->source, true);
    const float *rope = gi_ref_floats(ref, 1, 4ull * p->rope, 2ull * p->n_rot_pair);
    const uint32_t q_end = end < p->n_q_pair ? end : p->n_q_pair;
    gi_ref_expect_written(ref, "q", 0, 2ull * first, first < q_end ? 2 * (q_end - first) : 0);
    // Lists the heads that this dispatch has as a whole; of the others, results alone are compared.
    for (uint32_t head = 0; head < p->n_kv_pair / half; head++) {
        const uint32_t k_head = p->k_begin + head * half, v_head = p->v_begin + head * half;
        if (first <= k_head && k_head + half <= end) {
            gi_ref_cache_written(ref, &k, head, ref->n_past, 1);
        }
        if (first <= v_head && v_head + half <= end) {
            gi_ref_cache_written(ref, &v, head, ref->n_past, 1);
        }
    }
    for (uint32_t pair = first; !ref->has_failed && pair < end; pair++) {
        const uint32_t row = (pair - first) / 8 * 16 + (pair - first) % 8;
        const bool is_v = pair >= p->v_begin, is_k = !is_v && pair >= p->k_begin;
        const uint32_t own = pair - (is_v ? p->v_begin : is_k ? p->k_begin : 0);
        struct gi_ref_value y[2];
        if (own >= (is_v || is_k ? p->n_kv_pair : p->n_q_pair) ||
            !project(ref, row, &source, &y[0]) || !project(ref, row + 8, &source, &y[1])) {
            continue;
        }
        if (!is_v && own % half < p->n_rot_pair) {
            gi_ref_turn(y, rope + 2 * (size_t)(own % half));
        }
        for (uint32_t i = 0; i < 2; i++) {
            if (is_v || is_k) {
                gi_ref_cache_expect(ref, is_v ? &v : &k, own / half, ref->n_past,
                                    2 * (own % half) + i, y[i]);
            } else {
                gi_ref_expect(ref, "q", 0, 2ull * own + i, y[i].value, y[i].magnitude);
            }
        }
    }
}

//-- the vocabulary --------------------------------------------------------------------------------

// A partial result, as glsl/gemv/gemv_vocab.comp has it.
struct partial {
    float value;
    uint32_t index;
};

// Lists what the partial results name: the largest of the logits that were written, each with its
// value, and no row twice; or that one is not finite.
static void expect_partials(struct gi_ref *ref)
{
    const struct gi_gemv_vocab_params *p = ref->params;
    const uint32_t n = rows_left(p->row_begin, p->n_pair, p->n_vocab),
                   fine = gi_ref_define(ref, "FINE");
    const uint32_t n_partial = count_partials(ref) * (fine > 0 ? fine : 1);
    const float *logits = gi_ref_floats(ref, 0, p->row_begin, n);
    const float *words = gi_ref_floats(ref, 0, p->partial, 2 * (size_t)n_partial);
    struct partial *partials = gi_ref_memory(ref, n_partial, sizeof(*partials));
    uint8_t *is_named = gi_ref_memory(ref, n, sizeof(*is_named));
    uint32_t largest = 0, best = 0;
    bool is_finite = true;
    if (ref->has_failed || n == 0) {
        return;
    }
    memcpy(partials, words, n_partial * sizeof(*partials));
    for (uint32_t i = 0; i < n; i++) {
        largest = logits[i] > logits[largest] ? i : largest;
        is_finite = is_finite && isfinite(logits[i]);
    }
    for (uint32_t i = 0; i < n_partial; i++) {
        const struct partial *own = &partials[i], *b = &partials[best];
        const uint32_t row = own->index - p->row_begin;
        best =
            own->value > b->value || (own->value == b->value && own->index < b->index) ? i : best;
        if (row < n) {
            gi_ref_expect(ref, "partial", 0, p->partial + 2ull * i, logits[row], 0);
            gi_ref_expect_found(ref, "row named once", 0, p->partial + 2ull * i + 1, 1,
                                (struct gi_ref_value){0, 0}, is_named[row]);
            is_named[row] = 1;
        }
    }
    gi_ref_expect_bits(ref, "largest logit", 0, p->partial + 2ull * best + 1,
                       is_finite ? p->row_begin + largest : UINT32_MAX);
}

void gi_ref_gemv_vocab(struct gi_ref *ref)
{
    const struct gi_gemv_vocab_params *p = ref->params;
    const uint32_t n = rows_left(p->row_begin, p->n_pair, p->n_vocab),
                   fine = gi_ref_define(ref, "FINE");
    const struct source source = read_source(ref, p->source, true);
    gi_ref_expect_written(ref, "logits", 0, p->row_begin, n);
    gi_ref_expect_written(ref, "partial results", 0, p->partial,
                          2ull * count_partials(ref) * (fine > 0 ? fine : 1));
    for (uint32_t i = 0; !ref->has_failed && i < n; i++) {
        struct gi_ref_value y;
        if (project(ref, i, &source, &y)) {
            double logit = p->scale * y.value;
            if (gi_ref_define(ref, "SOFTCAP") && isfinite(logit)) {
                logit = p->softcap * tanh(logit / p->softcap);
            }
            gi_ref_expect(ref, "logits", 0, p->row_begin + i, logit,
                          fabs((double)p->scale) * y.magnitude);
        }
    }
    ref->after = expect_partials;
}

//-- experts ---------------------------------------------------------------------------------------

// Returns expert i of a token, counted from the part's first. A sampled reference knows rows of the
// part's first expert alone, so that it makes that the token's first.
static uint32_t expert_of(struct gi_ref *ref, uint32_t binding, uint64_t at, uint32_t i,
                          uint32_t first)
{
    const float route[4] = {(float)first, 0.5f, 0, 0};
    if (ref->is_sampled && i == 0) {
        gi_ref_write(ref, binding, at, 4, route);
    }
    const float *expert = gi_ref_floats(ref, binding, at + 4ull * i, 1);
    return expert ? (uint32_t)*expert - first : UINT32_MAX;
}

void gi_ref_gemv_expert_glu(struct gi_ref *ref)
{
    const struct gi_gemv_expert_params *p = ref->params;
    const uint32_t n_used = ref->dispatch->grid.size[2], side = gi_ref_define(ref, "SIDE");
    const struct gi_xielu xielu = {0};
    for (uint32_t m = ref->is_sampled ? ref->n_tokens - 1 : 0; m < ref->n_tokens; m++) {
        const uint64_t row = (uint64_t)m * p->stride;
        const struct source source = read_source(ref, p->source + (uint64_t)m * p->source_stride,
                                                 gi_ref_define(ref, "NORM"));
        for (uint32_t j = 0; j < (ref->is_sampled ? 1 : n_used); j++) {
            const uint32_t expert = expert_of(ref, 0, row + p->route, j, p->first_expert);
            const uint64_t at = row + (uint64_t)j * p->width;
            const float *before = side < 2 ? NULL : gi_ref_floats(ref, 0, at, p->n_row);
            for (uint32_t i = 0; !ref->has_failed && expert < p->n_expert && i < p->n_row; i++) {
                struct gi_ref_value act;
                if (gate(ref, expert * 16 * p->n_pair, i, &source, &xielu, before ? before[i] : 0,
                         &act)) {
                    gi_ref_expect(ref, "act", 0, at + i, act.value, act.magnitude);
                }
            }
            gi_ref_expect_written(ref, "act", 0, at, expert < p->n_expert ? p->n_row : 0);
        }
    }
}

void gi_ref_gemv_expert(struct gi_ref *ref)
{
    const struct gi_gemv_expert_params *p = ref->params;
    const uint32_t n_used = ref->dispatch->grid.size[2];
    for (uint32_t m = ref->is_sampled ? ref->n_tokens - 1 : 0; m < ref->n_tokens; m++) {
        const uint64_t row = 4ull * m * p->source_stride;
        for (uint32_t j = 0; j < (ref->is_sampled ? 1 : n_used); j++) {
            const uint32_t expert = expert_of(ref, 1, row + 4ull * p->route, j, p->first_expert);
            const struct source source =
                read_source(ref, row / 4 + (uint64_t)j * p->act_width, false);
            const uint64_t at = (uint64_t)m * p->stride + (uint64_t)j * p->width;
            for (uint32_t i = 0; !ref->has_failed && expert < p->n_expert && i < p->n_row; i++) {
                struct gi_ref_value y;
                if (project(ref, expert * 16 * p->n_pair + i, &source, &y)) {
                    gi_ref_expect(ref, "y", 0, at + i, y.value, y.magnitude);
                }
            }
            gi_ref_expect_written(ref, "y", 0, at, expert < p->n_expert ? p->n_row : 0);
        }
    }
}
