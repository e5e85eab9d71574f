// Checks of the projections: the kernels of glsl/gemv, glsl/experts and glsl/gemm.
#include "base/round.h"
#include "engine/selftest/test_case.h"
#include "engine/selftest/test_rows.h"
#include "glsl/experts/experts_params.h"
#include "glsl/gemm/gemm_params.h"
#include "glsl/gemv/gemv_params.h"

#include <math.h>
#include <string.h>

// The first fields of the params of all kernels of gemv/gemv.glsl, and those of a norm.
struct gemv_params {
    uint32_t n_block, n_pair, source, bias, ssq, n_ssq;
    float inv_n_embd, norm_eps;
};

// Writes the sums of x, which a kernel with SUMS reads after x. The entry that computes them may
// not have run, since only the first entry of each program runs.
static void renew_sums(struct gi_test *test, uint64_t begin, const float *x)
{
    const struct gemv_params *params = (const void *)test->params;
    const struct gi_range *range = &test->dispatch->bindings[1];
    const size_t n_col = (size_t)params->n_block * GI_QUANT_BLOCK,
                 size = n_col / 16 * sizeof(float);
    const uint64_t at = range->offset + (begin + gi_round_up(n_col, 64)) * sizeof(float);
    float *sums = gi_test_memory(test, n_col / 16, sizeof(*sums));
    for (uint32_t i = 0; sums && i < test->sample->n_cols; i++) {
        sums[i / 16] += x[i];
    }
    test->has_failed =
        !sums || !gi_buffer_write(range->buffer, test->gpu, at, sums, size, test->err);
}

// Reads x of a projection, from vec4 `source` of binding 1.
static float *read_x(struct gi_test *test, uint64_t source)
{
    float *x = gi_test_floats(test, 1, 4 * source, test->sample->n_cols);
    if (x && gi_test_define(test, "PARTED")) {
        gi_test_add_second(test, 4 * source, x);
    }
    if (x && gi_test_define(test, "SUMS")) {
        renew_sums(test, 4 * source, x);
    }
    return test->has_failed ? NULL : x;
}

// Returns 1 / rms of the stream, 1 without a norm.
static double read_scale(struct gi_test *test, bool has_norm)
{
    const struct gemv_params *params = (const void *)test->params;
    double sums[4];
    if (has_norm && gi_test_define(test, "PARTED") &&
        gi_test_add_part_sums(test, 1, 4ull * params->ssq, params->n_ssq, sums)) {
        const double s = 1 / sqrt(sums[3] * params->inv_n_embd + params->norm_eps);
        const double ssq = sums[0] + s * (2 * sums[1] + s * sums[2]);
        return 1 / sqrt(ssq * params->inv_n_embd + params->norm_eps);
    }
    const float *ssq = has_norm ? gi_test_floats(test, 1, 4ull * params->ssq, params->n_ssq) : NULL;
    double sum = 0;
    for (uint32_t i = 0; ssq && i < params->n_ssq; i++) {
        sum += ssq[i];
    }
    return ssq ? 1 / sqrt(sum * params->inv_n_embd + params->norm_eps) : 1;
}

// Computes a sampled row of the projection. The bias is added after the norm.
static bool project(struct gi_test *test, uint32_t row, const float *x, double scale,
                    struct gi_ref_value *y)
{
    const struct gemv_params *params = (const void *)test->params;
    const uint32_t bias = gi_test_own_bias(test, params->bias);
    struct gi_ref_value plain;
    if (!gi_test_dot(test, row, x, GI_NO_OFFSET, &plain) || !gi_test_dot(test, row, x, bias, y)) {
        return false;
    }
    y->value += (scale - 1) * plain.value;
    y->magnitude += (scale - 1) * plain.magnitude;
    return true;
}

//-- one token -------------------------------------------------------------------------------------

void gi_check_gemv_plain(struct gi_test *test)
{
    const struct gi_gemv_plain_params *params = (const void *)test->params;
    const float *x = read_x(test, params->source);
    const double scale = read_scale(test, gi_test_define(test, "NORM"));
    gi_test_poison(test, 0, params->row_begin, 16ull * params->n_pair);
    gi_test_run(test);
    const float *y = gi_test_floats(test, 0, params->row_begin, 16ull * params->n_pair);
    gi_test_expect_written(test, "y", params->row_begin, y, 16ull * params->n_pair);
    for (uint32_t i = 0; x && y && i < gi_test_n_sampled(test); i++) {
        struct gi_ref_value expected;
        const uint32_t row = gi_test_sampled_row(test, i);
        if (project(test, row, x, scale, &expected)) {
            gi_test_expect(test, "y", row, expected.value, expected.magnitude, y[row]);
        }
    }
}

// Compares the sums of results that were compared before.
static void check_residual_sums(struct gi_test *test, const float *residual, const float *norm,
                                uint32_t n)
{
    const struct gi_gemv_residual_params *params = (const void *)test->params;
    const uint32_t each = gi_test_define(test, "WG_SIZE") == 8 ? 8 : 1;
    const uint32_t n_ssq = test->dispatch->grid.size[0] * each;
    const float *ssq = gi_test_floats(test, 0, params->ssq, n_ssq);
    double sum = 0, expected = 0;
    for (uint32_t i = 0; ssq && i < n_ssq; i++) {
        sum += ssq[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        expected += (double)residual[i] * residual[i];
    }
    gi_test_expect(test, "ssq", 0, expected, expected, (float)sum);
    if (gi_test_define(test, "WRITE_SUMS")) {
        const uint32_t at = params->norm + (params->n_embd + 63) / 64 * 64 + params->row_begin / 16;
        gi_test_expect_sums(test, norm, gi_test_floats(test, 0, at, n / 16), n);
    }
}

void gi_check_gemv_residual(struct gi_test *test)
{
    const struct gi_gemv_residual_params *params = (const void *)test->params;
    const uint32_t first = params->row_begin;
    const uint32_t end = first + 16 * params->n_pair;
    const uint32_t n = (end < params->n_embd ? end : params->n_embd) - first;
    const float *x = read_x(test, params->source);
    const float *before = gi_test_floats(test, 0, params->residual + first, n);
    const float *gamma =
        gi_test_define(test, "HAS_GAMMA") ? gi_test_floats(test, 3, params->gamma, n) : NULL;
    gi_test_poison(test, 0, params->norm + first, n);
    gi_test_run(test);
    const float *residual = gi_test_floats(test, 0, params->residual + first, n);
    const float *norm = gi_test_floats(test, 0, params->norm + first, n);
    gi_test_expect_written(test, "norm", first, norm, n);
    for (uint32_t i = 0; norm && i < gi_test_n_sampled(test); i++) {
        struct gi_ref_value y;
        const uint32_t row = gi_test_sampled_row(test, i);
        if (row < n && gi_test_dot(test, row, x, gi_test_own_bias(test, params->bias), &y)) {
            const double expected = before[row] + params->scale * y.value;
            const double magnitude = fabs((double)before[row]) + fabs(params->scale * y.magnitude);
            const double weight = gamma ? gamma[row] : 1;
            gi_test_expect(test, "residual", row, expected, magnitude, residual[row]);
            gi_test_expect(test, "norm", row, expected * weight, magnitude * fabs(weight),
                           norm[row]);
        }
    }
    if (!test->has_failed) {
        check_residual_sums(test, residual, norm, n);
    }
}

// Returns the numbers of GI_ACTIVATION_XIELU, which networks without experts have alone.
static struct gi_xielu xielu_of(const struct gi_test *test)
{
    const struct gi_gemv_glu_params *params = (const void *)test->params;
    if (gi_test_define(test, "ACTIVATION") != GI_ACTIVATION_XIELU) {
        return (struct gi_xielu){0};
    }
    return (struct gi_xielu){params->square, params->fall, params->slope, params->edge};
}

// Works out element i of a gated network from the rows of a part, or of one of its experts, that
// hold `n_pair` pairs: SIDE of glsl/norm/glu.glsl. before is what lies in its place.
static bool gate(struct gi_test *test, uint32_t i, uint32_t n_pair, const float *x, double scale,
                 float before, struct gi_ref_value *act)
{
    const int32_t side = gi_test_define(test, "SIDE");
    const uint32_t activation = (uint32_t)gi_test_define(test, "ACTIVATION");
    struct gi_ref_value g, u = {before, fabs((double)before)};
    if (side != 2) {
        if (!project(test, i, x, scale, &g)) {
            return false;
        }
        const struct gi_xielu xielu = xielu_of(test);
        const double square =
            activation == GI_ACTIVATION_RELU_SQUARED ? 1 : fabs((double)xielu.square);
        // The slope of the activations but those with a square is below 1.2.
        const double slope = 1.2 + fabs((double)xielu.slope) + fabs((double)xielu.fall) +
                             square * (2 * fabs(g.value) + g.magnitude);
        g.value = gi_ref_activate(activation, &xielu, g.value);
        g.magnitude = slope * g.magnitude + fabs(g.value);
        u = side == 3 ? u : (struct gi_ref_value){1, 0};
    }
    if (side == 2 && !project(test, i, x, scale, &g)) {
        return false;
    }
    if (side == 0 && !project(test, 8 * n_pair + i, x, scale, &u)) {
        return false;
    }
    if (side == 2) {
        g.value = gi_ref_linear_factor(activation, g.value);
        g.magnitude += 1;
    } else if (side == 0) {
        u.value = gi_ref_linear_factor(activation, u.value);
        u.magnitude += 1;
    }
    *act = (struct gi_ref_value){g.value * u.value,
                                 g.magnitude * fabs(u.value) + fabs(g.value) * u.magnitude};
    return true;
}

void gi_check_gemv_glu(struct gi_test *test)
{
    const struct gi_gemv_glu_params *params = (const void *)test->params;
    const uint32_t n_part = params->n_pair * (gi_test_define(test, "SIDE") == 0 ? 8 : 16);
    const uint32_t left = params->n_ff - params->ff_begin, n = n_part < left ? n_part : left;
    const float *x = read_x(test, params->source);
    const float *before = gi_test_floats(test, 0, params->ff_begin, n);
    const double scale = read_scale(test, gi_test_define(test, "NORM"));
    gi_test_poison(test, 0, params->ff_begin, gi_test_define(test, "SIDE") < 2 ? n : 0);
    gi_test_run(test);
    const float *act = gi_test_floats(test, 0, params->ff_begin, n);
    gi_test_expect_written(test, "act", params->ff_begin, act, n);
    for (uint32_t i = 0; act && i < gi_test_n_sampled(test); i++) {
        struct gi_ref_value expected;
        const uint32_t row = gi_test_sampled_row(test, i);
        if (row < n && gate(test, row, params->n_pair, x, scale, before[row], &expected)) {
            gi_test_expect(test, "act", row, expected.value, expected.magnitude, act[row]);
        }
    }
    if (act && gi_test_define(test, "WRITE_SUMS")) {
        const uint32_t at = (params->n_ff + 63) / 64 * 64 + params->ff_begin / 16;
        gi_test_expect_sums(test, act, gi_test_floats(test, 0, at, n / 16), n);
    }
}

static void turn(struct gi_ref_value pair[2], const float *rotation)
{
    const struct gi_ref_value a = pair[0], b = pair[1];
    const double c = rotation[0], s = rotation[1];
    const double magnitude = a.magnitude + b.magnitude;
    pair[0] = (struct gi_ref_value){a.value * c - b.value * s, magnitude};
    pair[1] = (struct gi_ref_value){a.value * s + b.value * c, magnitude};
}

// Compares a pair of k or v with what lies at this position of the cache.
static void expect_pair(struct gi_test *test, const struct gi_kv_layer *layer, bool is_key,
                        uint32_t pair, const struct gi_ref_value expected[2])
{
    const uint32_t half = layer->head_dim / 2, n_memory = test->n_memory;
    const float *row = gi_test_cache(test, layer, is_key, pair / half, test->n_past, 1);
    const enum gi_cache_type type = is_key ? layer->type_k : layer->type_v;
    for (uint32_t i = 0; row && i < 2; i++) {
        const double rounding = type == GI_CACHE_F16 ? fabs(expected[i].value) / 1024 + 1e-7 : 0;
        gi_test_expect(test, is_key ? "k" : "v", 2 * pair + i, expected[i].value,
                       expected[i].magnitude + rounding / test->tolerance,
                       row[2 * (pair % half) + i]);
    }
    gi_test_rewind(test, n_memory);
}

// Expects that the pairs of k and v that the part has were written.
static void expect_own_pairs(struct gi_test *test, const struct gi_kv_layer *layer)
{
    const struct gi_gemv_qkv_params *params = (const void *)test->params;
    const uint32_t first = params->pair_begin, end = first + 8 * params->n_pair;
    const uint32_t half = layer->head_dim / 2;
    for (uint32_t head = 0; head < layer->n_kv_head; head++) {
        const uint32_t k = params->k_begin + head * half, v = params->v_begin + head * half;
        if (first <= k && k + half <= end) {
            gi_test_expect_cache_written(test, layer, true, head, test->n_past, 1);
        }
        if (first <= v && v + half <= end) {
            gi_test_expect_cache_written(test, layer, false, head, test->n_past, 1);
        }
    }
}

void gi_check_gemv_qkv(struct gi_test *test)
{
    const struct gi_gemv_qkv_params *params = (const void *)test->params;
    const struct gi_kv_layer *layer = gi_test_layer(test, 0);
    const uint32_t half = layer->head_dim / 2;
    const float *x = read_x(test, params->source);
    const float *rope = gi_test_floats(test, 1, 4ull * params->rope, 2ull * params->n_rot_pair);
    const double scale = read_scale(test, true);
    const uint32_t first = 2 * params->pair_begin, end = first + 16 * params->n_pair;
    const uint32_t n_q = 2 * params->n_q_pair, q_end = end < n_q ? end : n_q;
    const uint32_t n_own = first < q_end ? q_end - first : 0;
    gi_test_poison(test, 0, first, n_own);
    gi_test_poison_cache(test, layer, test->n_past, 1);
    gi_test_run(test);
    const float *q = gi_test_floats(test, 0, 0, n_q);
    gi_test_expect_written(test, "q", first, q ? q + first : NULL, n_own);
    expect_own_pairs(test, layer);
    for (uint32_t i = 0; q && i < gi_test_n_sampled(test); i++) {
        struct gi_ref_value y[2];
        const uint32_t row = gi_test_sampled_row(test, i);
        const uint32_t p = params->pair_begin + row / 16 * 8 + row % 8;
        if (row % 16 >= 8 || !project(test, row, x, scale, &y[0]) ||
            !project(test, row + 8, x, scale, &y[1])) {
            continue;
        }
        const uint32_t i_pair = (p < params->k_begin ? p : p - params->k_begin) % half;
        if (p < params->v_begin && i_pair < params->n_rot_pair) {
            turn(y, rope + (size_t)2 * i_pair);
        }
        if (p >= params->v_begin && p - params->v_begin < params->n_kv_pair) {
            expect_pair(test, layer, false, p - params->v_begin, y);
        } else if (p >= params->k_begin && p - params->k_begin < params->n_kv_pair) {
            expect_pair(test, layer, true, p - params->k_begin, y);
        } else if (p < params->n_q_pair) {
            gi_test_expect(test, "q", (uint64_t)2 * p, y[0].value, y[0].magnitude,
                           q[(size_t)2 * p]);
            gi_test_expect(test, "q", 2 * p + 1, y[1].value, y[1].magnitude, q[2 * p + 1]);
        }
    }
}

static uint32_t count_partials(const struct gi_test *test)
{
    return test->dispatch->grid.size[0] * (gi_test_define(test, "WG_SIZE") == 8 ? 8 : 1);
}

// Expects the partial results to name the largest logit of this part.
static void check_partials(struct gi_test *test, const float *logits, uint32_t first, uint32_t n)
{
    const struct gi_gemv_vocab_params *params = (const void *)test->params;
    const uint32_t n_partial = count_partials(test);
    const uint32_t *partials = gi_test_words(test, 0, params->partial, 2ull * n_partial);
    gi_test_expect_written(test, "partial results", 0, partials, 2ull * n_partial);
    uint32_t best = 0, found = 0;
    float value = -INFINITY;
    for (uint32_t i = 1; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    for (uint32_t i = 0; partials && i < n_partial; i++) {
        float own;
        memcpy(&own, &partials[(size_t)2 * i], sizeof(own));
        if (own > value || (own == value && partials[2 * i + 1] < found)) {
            value = own;
            found = partials[2 * i + 1];
        }
    }
    gi_test_expect(test, "largest logit", 0, first + best, 1e-3, found);
}

void gi_check_gemv_vocab(struct gi_test *test)
{
    const struct gi_gemv_vocab_params *params = (const void *)test->params;
    const uint32_t first = params->row_begin, n_part = 16 * params->n_pair;
    const uint32_t left = params->n_vocab > first ? params->n_vocab - first : 0;
    const uint32_t n = n_part < left ? n_part : left;
    const float *x = read_x(test, params->source);
    const double scale = read_scale(test, true);
    gi_test_poison(test, 0, first, n);
    gi_test_poison(test, 0, params->partial, 2ull * count_partials(test));
    gi_test_run(test);
    const float *logits = gi_test_floats(test, 0, first, n);
    gi_test_expect_written(test, "logits", first, logits, n);
    for (uint32_t i = 0; logits && i < gi_test_n_sampled(test); i++) {
        struct gi_ref_value y;
        const uint32_t row = gi_test_sampled_row(test, i);
        if (row < n && project(test, row, x, scale, &y)) {
            double logit = params->scale * y.value;
            if (gi_test_define(test, "SOFTCAP")) {
                logit = params->softcap * tanh(logit / params->softcap);
            }
            gi_test_expect(test, "logits", first + row, logit,
                           fabs((double)params->scale) * y.magnitude + fabs(logit), logits[row]);
        }
    }
    if (logits && n > 0) {
        check_partials(test, logits, first, n);
    }
}

//-- a batch ---------------------------------------------------------------------------------------

static bool is_half_gemm(const struct gi_test *test)
{
    return test->key->id == GI_PROGRAM_GEMM_HALF || gi_test_is_small_half(test->key);
}

static void check_token(struct gi_test *test, uint32_t token, const float *x, const float *before,
                        const float *y)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    for (uint32_t i = 0; i < gi_test_n_sampled(test); i++) {
        struct gi_ref_value expected;
        const uint32_t row = gi_test_sampled_row(test, i);
        if (row >= params->n_rows ||
            !gi_test_dot(test, row, x, gi_test_own_bias(test, params->bias), &expected)) {
            continue;
        }
        if (params->is_added && before) {
            expected.value = before[row] + params->scale * expected.value;
            expected.magnitude =
                fabs((double)before[row]) + fabs(params->scale * expected.magnitude);
        }
        gi_test_expect(test, token == 0 ? "first row" : "later row", params->y_begin + row,
                       expected.value, expected.magnitude, y[row]);
    }
}

// Assigns the first run of rows to the part's first expert, whose weights were sampled; all other
// runs are empty. Returns the rows of that run, 0 with has_failed.
static uint32_t own_first_run(struct gi_test *test)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    const struct gi_range *range = &test->dispatch->bindings[1];
    const uint32_t n_row = test->n_tokens * params->n_used, most = test->dispatch->grid.divisor;
    const uint32_t n = n_row < most ? n_row : most;
    const uint32_t n_run = (n_row + most - 1) / most + test->dispatch->grid.added;
    float(*runs)[4] = gi_test_memory(test, n_run, sizeof(*runs));
    for (uint32_t i = 0; runs && i < n_run; i++) {
        runs[i][0] = (float)(params->first_expert + (i == 0 ? 0 : params->n_expert));
        runs[i][2] = i == 0 ? (float)n : 0;
    }
    if (runs && !gi_buffer_write(range->buffer, test->gpu, range->offset + 16ull * params->tiles,
                                 runs, n_run * sizeof(*runs), test->err)) {
        test->has_failed = true;
    }
    return test->has_failed ? 0 : n;
}

static void check_gemm_experts(struct gi_test *test)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    const bool is_half = is_half_gemm(test);
    // In f16, the last row of a run may be padding.
    const uint32_t n = own_first_run(test), rows[] = {0, is_half ? 0 : n - 1};
    const uint64_t begin = 4ull * params->x_begin;
    const uint32_t n_col = test->sample->n_cols;
    const uint32_t n_tile = (n_col + GI_HALF_COLUMNS - 1) / GI_HALF_COLUMNS;
    for (uint32_t i = 0; n > 0 && i < 2; i++) {
        gi_test_poison(test, 0, (uint64_t)rows[i] * params->y_stride + params->y_begin,
                       params->n_rows);
    }
    gi_test_run(test);
    for (uint32_t i = 0; n > 0 && i < 2; i++) {
        const float *x =
            is_half ? gi_test_half_row(test, 1, begin, rows[i], n_col, n_tile)
                    : gi_test_floats(test, 1, begin + (uint64_t)rows[i] * params->x_stride, n_col);
        const float *y = gi_test_floats(
            test, 0, (uint64_t)rows[i] * params->y_stride + params->y_begin, params->n_rows);
        gi_test_expect_written(test, "y", params->y_begin, y, params->n_rows);
        if (x && y) {
            check_token(test, rows[i], x, NULL, y);
        }
    }
}

enum { N_COMPARED = 3 }; // tokens

// Fills the rows that a product writes: with a pattern that no result has or, where it is added to
// them, with numbers so small that every result changes them. The rows of tokens that are compared
// get larger ones. NULL with has_failed.
static float *fill_results(struct gi_test *test, const uint32_t tokens[N_COMPARED])
{
    const struct gi_gemm_params *params = (const void *)test->params;
    const uint64_t stride = params->y_stride;
    const uint32_t unwritten = GI_TEST_POISON;
    float *rows = gi_test_rows(test, 0, params->y_begin, stride, params->n_rows);
    for (uint32_t token = 0; rows && token < test->n_tokens; token++) {
        const bool is_compared =
            token == tokens[0] || token == tokens[1] || token == tokens[N_COMPARED - 1];
        for (uint32_t i = 0; i < params->n_rows; i++) {
            const uint32_t bits = (token * params->n_rows + i + 1) * 2654435761u;
            const uint32_t small =
                (bits & 0x807FFFFFu) | (is_compared ? 0x3F000000u : 0x35000000u); // 2^-21
            memcpy(&rows[token * stride + i], params->is_added ? &small : &unwritten,
                   sizeof(float));
        }
    }
    if (rows) {
        gi_test_write(test, 0, params->y_begin, rows,
                      (test->n_tokens - 1) * stride + params->n_rows);
    }
    return test->has_failed ? NULL : rows;
}

// Returns the number of results that no run changed, in rows of weights that changed another; *lost
// is the index of the first.
static uint32_t count_lost(struct gi_test *test, const uint8_t *is_changed, uint64_t *lost)
{
    const uint32_t n_row = ((const struct gi_gemm_params *)(const void *)test->params)->n_rows;
    const uint64_t n = (uint64_t)test->n_tokens * n_row;
    uint8_t *is_row_used = gi_test_memory(test, n_row, 1);
    uint32_t n_lost = 0;
    for (uint64_t i = 0; is_row_used && i < n; i++) {
        is_row_used[i % n_row] |= is_changed[i];
    }
    for (uint64_t i = n; is_row_used && i-- > 0;) {
        const bool is_lost = is_row_used[i % n_row] && !is_changed[i];
        *lost = is_lost ? i : *lost;
        n_lost += is_lost;
    }
    return n_lost;
}

static const float *read_gemm_row(struct gi_test *test, uint32_t token)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    const uint32_t n = test->sample->n_cols;
    return gi_test_is_packed(test->key)
               ? gi_test_packed_row(test, 1, token, params->x_stride, n)
               : gi_test_row(test, 1, is_half_gemm(test), token, params->x_stride, n,
                             (n + GI_HALF_COLUMNS - 1) / GI_HALF_COLUMNS);
}

// Fills the rows that a product reads: those of the model may not have been written in the layout
// of this entry, or be so small that their product changes nothing that it is added to.
static void fill_inputs(struct gi_test *test, uint32_t seed)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    const uint32_t n = test->sample->n_cols;
    const bool is_packed = gi_test_is_packed(test->key);
    if (is_half_gemm(test)) {
        gi_test_fill_half_rows(test, 1, n, seed);
    } else if (params->is_added || is_packed) {
        gi_test_fill_rows(test, 1, is_packed, params->x_stride, n, seed);
    }
}

// Runs a product on inputs of a seed, compares some tokens, and notes results that changed.
static void run_gemm(struct gi_test *test, uint32_t seed, uint8_t *is_changed)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    const uint32_t tokens[N_COMPARED] = {0, test->n_tokens / 2, test->n_tokens - 1};
    const uint32_t n_memory = test->n_memory;
    const float *x[N_COMPARED];
    fill_inputs(test, seed);
    for (uint32_t i = 0; i < N_COMPARED; i++) {
        x[i] = read_gemm_row(test, tokens[i]);
    }
    const float *before = fill_results(test, tokens);
    gi_test_run(test);
    const float *after = gi_test_rows(test, 0, params->y_begin, params->y_stride, params->n_rows);
    for (uint32_t i = 0; before && after && i < N_COMPARED; i++) {
        const uint64_t at = (uint64_t)tokens[i] * params->y_stride;
        check_token(test, tokens[i], x[i], before + at, after + at);
    }
    if (before && after && !params->is_added) {
        gi_test_expect_rows(test, "y", after, params->y_stride, params->n_rows);
    }
    for (uint64_t i = 0; before && after && i < (uint64_t)test->n_tokens * params->n_rows; i++) {
        const uint64_t at = i / params->n_rows * params->y_stride + i % params->n_rows;
        is_changed[i] |= before[at] != after[at];
    }
    gi_test_rewind(test, n_memory);
}

// A result that was added is missing if nothing changed on two inputs: in f16 a sum may be 0 on
// one, and a single sum on both.
void gi_check_gemm(struct gi_test *test)
{
    enum { SEED = 1, OTHER_SEED = 50021 };
    const struct gi_gemm_params *params = (const void *)test->params;
    const uint64_t n = (uint64_t)test->n_tokens * params->n_rows;
    uint64_t lost = 0;
    if (gi_test_define(test, "EXPERTS")) {
        check_gemm_experts(test);
        return;
    }
    uint8_t *is_changed = gi_test_memory(test, n, 1);
    if (is_changed) {
        run_gemm(test, SEED, is_changed);
    }
    if (!test->has_failed && params->is_added && count_lost(test, is_changed, &lost) > 1) {
        run_gemm(test, OTHER_SEED, is_changed);
        if (count_lost(test, is_changed, &lost) > 1) {
            gi_test_fail(test, "the product is missing", (uint32_t)(lost % params->n_rows),
                         (uint32_t)(lost / params->n_rows));
        }
    }
    if (gi_test_is_packed(test->key)) {
        gi_test_fill_rows(test, 1, false, params->x_stride, test->sample->n_cols, SEED);
    }
}

//-- experts ---------------------------------------------------------------------------------------

// Routes the token's first two experts to the part's first one, whose weights were sampled. at:
// start of the route in a binding, in floats. Returns false with has_failed.
static bool route_to_sample(struct gi_test *test, uint32_t binding, uint64_t at, uint32_t expert)
{
    const struct gi_range *range = &test->dispatch->bindings[binding];
    const float route[4] = {(float)expert, 0.5f, 0, 0};
    if (!test->has_failed &&
        !gi_buffer_write(range->buffer, test->gpu, range->offset + at * sizeof(float), route,
                         sizeof(route), test->err)) {
        test->has_failed = true;
    }
    return !test->has_failed;
}

void gi_check_gemv_expert_glu(struct gi_test *test)
{
    const struct gi_gemv_expert_params *params = (const void *)test->params;
    const bool has_norm = gi_test_define(test, "NORM");
    const uint64_t token = test->n_tokens - 1;
    if (!route_to_sample(test, 0, token * params->stride + params->route, params->first_expert)) {
        return;
    }
    const uint64_t source = params->source + token * params->source_stride;
    const float *x = read_x(test, source);
    const float *before = gi_test_floats(test, 0, token * params->stride, params->n_row);
    const double scale = read_scale(test, has_norm);
    const size_t n_own = gi_test_define(test, "SIDE") < 2 ? params->n_row : 0;
    gi_test_poison(test, 0, token * params->stride, n_own);
    gi_test_run(test);
    const float *act = gi_test_floats(test, 0, token * params->stride, params->n_row);
    gi_test_expect_written(test, "act", 0, act, n_own);
    for (uint32_t i = 0; act && i < gi_test_n_sampled(test); i++) {
        struct gi_ref_value expected;
        const uint32_t row = gi_test_sampled_row(test, i);
        if (row < params->n_row &&
            gate(test, row, params->n_pair, x, scale, before[row], &expected)) {
            gi_test_expect(test, "act", row, expected.value, expected.magnitude, act[row]);
        }
    }
}

void gi_check_gemv_expert(struct gi_test *test)
{
    const struct gi_gemv_expert_params *params = (const void *)test->params;
    const uint64_t token = test->n_tokens - 1, source = 4 * token * params->source_stride;
    if (!route_to_sample(test, 1, source + 4ull * params->route, params->first_expert)) {
        return;
    }
    const float *x = gi_test_floats(test, 1, source, test->sample->n_cols);
    gi_test_poison(test, 0, token * params->stride, params->n_row);
    gi_test_run(test);
    const float *y = gi_test_floats(test, 0, token * params->stride, params->n_row);
    gi_test_expect_written(test, "y", 0, y, params->n_row);
    for (uint32_t i = 0; y && i < gi_test_n_sampled(test); i++) {
        struct gi_ref_value expected;
        const uint32_t row = gi_test_sampled_row(test, i);
        if (row < params->n_row &&
            gi_test_dot(test, row, x, gi_test_own_bias(test, params->bias), &expected)) {
            gi_test_expect(test, "y", row, expected.value, expected.magnitude, y[row]);
        }
    }
}
