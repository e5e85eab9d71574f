// Embedding, norms, activations and rows of experts: what glsl/embed, glsl/norm and glsl/experts
// say they compute.
#include "engine/selftest/test_case.h"
#include "ops/record/params.h"

#include <math.h>

// Reads n floats of the vectors at a binding.
static const float *vector(struct gi_test *test, uint32_t binding, uint32_t first, uint32_t n)
{
    return gi_test_floats(test, binding, first, n);
}

// Compares the residual of a stream with n expected values, its norm with their products with
// gamma (NULL: it is not written), and the partial sums of squares. magnitude has the sums of what
// was added, which may cancel out; NULL: nothing did.
static void expect_stream(struct gi_test *test, const double *expected, const double *magnitude,
                          const float *gamma, uint32_t n, uint32_t residual_at, uint32_t norm_at,
                          uint32_t ssq_at, uint32_t n_ssq)
{
    const float *residual = gi_test_floats(test, 0, residual_at, n);
    const float *norm = gi_test_floats(test, 0, norm_at, n);
    const float *ssq = gi_test_floats(test, 0, ssq_at, n_ssq);
    double squares = 0, sum = 0;
    if (test->has_failed) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double own = magnitude ? magnitude[i] : fabs(expected[i]);
        gi_test_expect(test, "residual", i, expected[i], 1e-6 + own, residual[i]);
        if (gamma) {
            const double weighted = expected[i] * gamma[i];
            gi_test_expect(test, "norm", i, weighted, 1e-6 + fabs(own * gamma[i]), norm[i]);
        }
        squares += expected[i] * expected[i];
    }
    for (uint32_t i = 0; i < n_ssq; i++) {
        sum += ssq[i];
    }
    gi_test_expect(test, "ssq", 0, squares, squares, (float)sum);
}

//-- embedding -------------------------------------------------------------------------------------

void gi_check_embed_token(struct gi_test *test)
{
    const struct gi_embed_token_params *params = (const void *)test->params;
    struct gi_step_state state;
    const struct gi_range *range = gi_dispatch_table_state(test->list);
    const float *gamma = vector(test, 1, params->gamma, params->n_embd);
    const float *turns =
        vector(test, 1, params->rope_table + test->n_past * params->n_rot, params->n_rot);
    float *row = gi_test_memory(test, params->n_embd, sizeof(*row));
    double *expected = gi_test_memory(test, params->n_embd, sizeof(*expected));
    if (test->has_failed || !gi_buffer_read(range->buffer, test->gpu, range->offset, &state,
                                            sizeof(state), test->err)) {
        test->has_failed = true;
        return;
    }
    gi_test_run(test);
    // The last group copies the rotations.
    const uint32_t n_ssq = test->dispatch->grid.size[0] - 1;
    if (test->has_failed ||
        !gi_weight_sample_row(test->sample, state.token - params->row_begin, row)) {
        return;
    }
    for (uint32_t i = 0; i < params->n_embd; i++) {
        expected[i] = (double)params->scale * row[i];
    }
    expect_stream(test, expected, NULL, gamma, params->n_embd, params->residual, params->norm,
                  params->ssq, n_ssq);
    const float *copied = gi_test_floats(test, 0, params->rope_row, params->n_rot);
    for (uint32_t i = 0; copied && i < params->n_rot; i++) {
        gi_test_expect(test, "rope", i, turns[i], 1, copied[i]);
    }
}

void gi_check_embed_batch(struct gi_test *test)
{
    const struct gi_embed_batch_params *params = (const void *)test->params;
    const uint32_t n = test->sample->n_cols;
    const bool is_step = gi_test_define(test, "STEP") || gi_test_is_of_slots(test);
    const uint32_t *tokens =
        is_step ? &test->state.token : gi_test_words(test, 1, 0, test->n_tokens);
    float *row = gi_test_memory(test, n, sizeof(*row));
    gi_test_run(test);
    for (uint32_t token = 0; token < test->n_tokens && !test->has_failed; token++) {
        const uint32_t n_memory = test->n_memory;
        const float *x = gi_test_floats(test, 0, (uint64_t)token * params->stride, n);
        const bool is_known =
            x && gi_weight_sample_row(test->sample, tokens[token] - params->row_begin, row);
        for (uint32_t i = 0; is_known && i < n; i++) {
            const double expected = (double)params->scale * row[i];
            gi_test_expect(test, "x", i, expected, 1e-6 + fabs(expected), x[i]);
        }
        gi_test_rewind(test, n_memory);
    }
}

void gi_check_last_row(struct gi_test *test)
{
    const struct gi_last_row_params *params = (const void *)test->params;
    const uint32_t n = params->n_embd;
    const float *gamma = vector(test, 2, params->gamma, n);
    const float *x = gi_test_floats(test, 1, (uint64_t)(test->n_tokens - 1) * params->stride, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    gi_test_run(test);
    for (uint32_t i = 0; !test->has_failed && i < n; i++) {
        expected[i] = x[i];
    }
    expect_stream(test, expected, NULL, gamma, n, params->residual, params->norm, params->ssq,
                  test->dispatch->grid.size[0]);
}

//-- norms -----------------------------------------------------------------------------------------

static double mean_square(const float *x, uint32_t n, double mean)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (x[i] - mean) * (x[i] - mean);
    }
    return sum / n;
}

static double mean_of(const float *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum / n;
}

static uint32_t half_tiles(uint32_t width)
{
    return (width + GI_HALF_COLUMNS - 1) / GI_HALF_COLUMNS;
}

// Compares n columns of a row with values that were rounded to f16 of the row's scale, or not.
static void expect_row(struct gi_test *test, const double *expected, const double *magnitude,
                       const float *got, uint32_t n, bool is_half)
{
    double largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(expected[i]));
    }
    for (uint32_t i = 0; got && i < n; i++) {
        const double rounding = is_half ? largest / 1024 / test->tolerance : 0;
        gi_test_expect(test, "y", i, expected[i], 1e-6 + fabs(magnitude[i]) + rounding, got[i]);
    }
}

void gi_check_rmsnorm(struct gi_test *test)
{
    const struct gi_rmsnorm_params *params = (const void *)test->params;
    const bool is_half = gi_test_define(test, "HALF"), is_added = gi_test_define(test, "ADD");
    const bool is_scaled = gi_test_define(test, "SCALED");
    const uint32_t token = test->n_tokens - 1, n = params->width;
    const float *gamma = vector(test, 2, params->gamma, n);
    const float *x = gi_test_floats(test, 1, (uint64_t)token * params->x_stride, n);
    const float *before =
        is_added ? gi_test_floats(test, 0, (uint64_t)token * params->y_stride, n) : NULL;
    const float *out_scale = is_scaled ? vector(test, 2, params->scale, 1) : NULL;
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    gi_test_run(test);
    const float *y = gi_test_row(test, 0, is_half, token, params->y_stride, n, half_tiles(n));
    if (!y) {
        return;
    }
    const double scale = 1 / sqrt(mean_square(x, n, 0) + params->eps);
    const double out = out_scale ? out_scale[0] : 1;
    for (uint32_t i = 0; i < n; i++) {
        const double value = x[i] * scale * gamma[i], old = before ? before[i] : 0;
        expected[i] = out * (value + old);
        magnitude[i] = fabs(out) * (fabs(value) + fabs(old));
    }
    expect_row(test, expected, magnitude, y, n, is_half);
}

// Takes a batch, or the stream of a step, whose norm it writes from its residual.
void gi_check_layernorm(struct gi_test *test)
{
    const struct gi_layernorm_params *params = (const void *)test->params;
    const bool is_half = gi_test_define(test, "HALF"), is_batch = gi_test_define(test, "BATCH");
    const uint32_t token = is_batch ? test->n_tokens - 1 : 0, n = params->width;
    const float *gamma = vector(test, 2, params->gamma, n);
    const float *beta = vector(test, 2, params->beta, n);
    const uint64_t from = params->residual + (uint64_t)token * params->x_stride;
    const float *x = gi_test_floats(test, is_batch ? 1 : 0, from, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    gi_test_run(test);
    const float *y = is_batch
                         ? gi_test_row(test, 0, is_half, token, params->y_stride, n, half_tiles(n))
                         : gi_test_floats(test, 0, params->norm, n);
    if (!y) {
        return;
    }
    const double mean = mean_of(x, n);
    const double scale = 1 / sqrt(mean_square(x, n, mean) + params->eps);
    for (uint32_t i = 0; i < n; i++) {
        expected[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
        magnitude[i] = (fabs((double)x[i]) + fabs(mean)) * scale * fabs((double)gamma[i]) +
                       fabs((double)beta[i]);
    }
    expect_row(test, expected, magnitude, y, n, is_half);
}

void gi_check_post_norm(struct gi_test *test)
{
    const struct gi_post_norm_params *params = (const void *)test->params;
    const uint32_t n = params->n_embd;
    const bool has_next = gi_test_define(test, "HAS_GAMMA");
    const float *gamma = vector(test, 2, params->gamma, n);
    const float *next = has_next ? vector(test, 2, params->next_gamma, n) : NULL;
    const float *y = gi_test_floats(test, 1, 0, n);
    const float *before = gi_test_floats(test, 0, params->residual, n);
    const float *out_scale =
        gi_test_define(test, "SCALED") ? vector(test, 2, params->out_scale, 1) : NULL;
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    gi_test_run(test);
    if (test->has_failed) {
        return;
    }
    const double scale = 1 / sqrt(mean_square(y, n, 0) + params->eps);
    const double out = out_scale ? out_scale[0] : 1;
    for (uint32_t i = 0; i < n; i++) {
        const double value = y[i] * scale * gamma[i];
        expected[i] = out * (before[i] + value);
        magnitude[i] = fabs(out) * (fabs((double)before[i]) + fabs(value));
    }
    expect_stream(test, expected, magnitude, next, n, params->residual, params->norm, params->ssq,
                  test->dispatch->grid.size[0]);
}

//-- rows ------------------------------------------------------------------------------------------

void gi_check_half_rows(struct gi_test *test)
{
    const struct gi_half_rows_params *params = (const void *)test->params;
    const uint32_t token = test->n_tokens - 1, n = params->width;
    const float *x = gi_test_floats(test, 1, (uint64_t)token * params->x_stride, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    gi_test_run(test);
    const float *y = gi_test_row(test, 0, true, token, 0, n, half_tiles(n));
    for (uint32_t i = 0; y && i < n; i++) {
        expected[i] = x[i];
    }
    if (y) {
        expect_row(test, expected, expected, y, n, true);
    }
}

void gi_check_pack_rows(struct gi_test *test)
{
    const struct gi_pack_rows_params *params = (const void *)test->params;
    const uint32_t token = test->n_tokens - 1, n = params->width;
    const float *x = gi_test_floats(test, 0, (uint64_t)token * params->x_stride, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    for (uint32_t i = 0; x && expected && i < n; i++) {
        expected[i] = x[i];
    }
    gi_test_run(test);
    const float *y = gi_test_packed_row(test, 0, token, params->x_stride, n);
    if (y) {
        expect_row(test, expected, expected, y, n, true);
    }
    gi_test_fill_rows(test, 0, false, params->x_stride, n);
}

void gi_check_glu(struct gi_test *test)
{
    const struct gi_glu_params *params = (const void *)test->params;
    const bool is_half = gi_test_define(test, "HALF");
    const uint32_t activation = (uint32_t)gi_test_define(test, "ACTIVATION");
    const bool is_gated = !gi_test_define(test, "UNGATED");
    const uint32_t each = (uint32_t)gi_test_define(test, "EACH"); // rows of a token; 0: one
    const uint32_t token = test->n_tokens * (each > 0 ? each : 1) - 1, n = params->n_column;
    const float *route =
        gi_test_define(test, "SORTED") ? gi_test_floats(test, 2, 4ull * token, 4) : NULL;
    const uint32_t from = route ? (uint32_t)route[2] : token;
    const uint64_t at = (uint64_t)from * params->gate_up_stride + params->gate_begin;
    const struct gi_xielu xielu = {params->square, params->fall, params->slope, params->edge};
    const float *g = gi_test_floats(test, 1, at, n);
    const float *u = gi_test_floats(test, 1, at + params->n_part, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    gi_test_run(test);
    const float *row =
        gi_test_row(test, 0, is_half, route ? (uint32_t)route[3] : token, params->act_stride,
                    params->act_begin + n, half_tiles(params->act_stride));
    const float *act = row ? row + params->act_begin : NULL;
    for (uint32_t i = 0; act && i < n; i++) {
        expected[i] = gi_test_activate(activation, &xielu, g[i]) *
                      (is_gated ? gi_test_linear_factor(activation, u[i]) : 1);
        // An error of the exponential grows with its argument.
        magnitude[i] = fabs(expected[i]) * (2 + fabs((double)g[i])) + fabs((double)xielu.fall);
    }
    if (act) {
        expect_row(test, expected, magnitude, act, n, is_half);
    }
}

void gi_check_gate_rows(struct gi_test *test)
{
    const struct gi_gate_rows_params *params = (const void *)test->params;
    const uint32_t token = test->n_tokens - 1, n = params->n_column;
    const uint64_t row = (uint64_t)token * params->x_stride;
    const float *x = gi_test_floats(test, 0, row, n);
    const float *gate = gi_test_floats(
        test, 1, (uint64_t)token * params->qkv_stride + params->gate_begin, n + n % 16);
    gi_test_run(test);
    const float *found = gi_test_floats(test, 0, row, n);
    for (uint32_t i = 0; found && i < n; i++) {
        const double g = gate[i / 16 * 16 + i % 16 / 2 + i % 2 * 8],
                     expected = x[i] / (1 + exp(-g));
        gi_test_expect(test, "x", i, expected, fabs(expected) * (2 + fabs(g)), found[i]);
    }
}

//-- experts ---------------------------------------------------------------------------------------

void gi_check_add_experts(struct gi_test *test)
{
    const struct gi_add_experts_params *params = (const void *)test->params;
    const bool is_batch = gi_test_define(test, "BATCH");
    const uint32_t token = test->n_tokens - 1, n = params->n_embd, n_used = params->n_used;
    const float *route = gi_test_floats(
        test, 3, (uint64_t)token * params->act_stride + params->route, 4ull * n_used);
    const bool is_sorted = gi_test_define(test, "SORTED");
    const uint32_t n_row = is_sorted ? test->n_tokens * n_used : n_used;
    const float *y = gi_test_floats(test, 1, is_sorted ? 0 : (uint64_t)token * params->y_stride,
                                    (uint64_t)(n_row - 1) * params->y_width + n);
    const uint32_t at = params->residual + token * params->x_stride;
    const float *before = gi_test_floats(test, 0, at, n);
    const float *gamma = is_batch ? NULL : vector(test, 2, params->gamma, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    gi_test_run(test);
    for (uint32_t i = 0; !test->has_failed && i < n; i++) {
        expected[i] = before[i];
        magnitude[i] = fabs(expected[i]);
        for (uint32_t j = 0; j < n_used; j++) {
            const uint32_t row = is_sorted ? (uint32_t)route[4 * j + 2] : j;
            const double added =
                (double)params->scale * route[4 * j + 1] * y[(uint64_t)row * params->y_width + i];
            expected[i] += added;
            magnitude[i] += fabs(added);
        }
    }
    if (is_batch) {
        const float *x = gi_test_floats(test, 0, at, n);
        if (x) {
            expect_row(test, expected, magnitude, x, n, false);
        }
        return;
    }
    expect_stream(test, expected, magnitude, gamma, n, params->residual, params->norm, params->ssq,
                  test->dispatch->grid.size[0]);
}

void gi_check_gather_rows(struct gi_test *test)
{
    const struct gi_gather_rows_params *params = (const void *)test->params;
    const uint32_t token = test->n_tokens - 1, n = 4 * params->n_quad;
    const uint64_t last = (uint64_t)test->n_tokens * params->n_used - 1;
    const bool is_half = gi_test_define(test, "HALF");
    gi_test_run(test);
    const float *route = gi_test_floats(test, 2, 4 * last, 4);
    const float *x = gi_test_floats(test, 1, 4ull * token * params->x_stride, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    if (!route || !x || !expected) {
        return;
    }
    const float *row = gi_test_row(test, 0, is_half, (uint32_t)route[3], n, n, half_tiles(n));
    for (uint32_t i = 0; i < n; i++) {
        expected[i] = x[i];
    }
    if (row) {
        expect_row(test, expected, expected, row, n, is_half);
    }
}
