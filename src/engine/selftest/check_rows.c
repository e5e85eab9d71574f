// Checks of the embedding, norms, activations and rows of experts: the kernels of glsl/embed,
// glsl/norm and glsl/experts.
#include "engine/selftest/test_case.h"
#include "engine/selftest/test_rows.h"
#include "glsl/embed/embed_params.h"
#include "glsl/experts/experts_params.h"
#include "glsl/gemm/gemm_params.h"
#include "glsl/norm/norm_params.h"

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

enum { N_EMBEDDED = 8 }; // tokens that are embedded one at a time

// Returns the token of a row of the sample, from the first, middle and last tiles; UINT32_MAX for a
// row of padding.
static uint32_t sampled_token(const struct gi_test *test, uint32_t i, uint32_t row_begin)
{
    const uint32_t row = i * 27 % gi_test_n_sampled(test); // 27: the ends come early
    return test->sample->is_there[row] ? row_begin + gi_test_sampled_row(test, row) : UINT32_MAX;
}

static void check_embedded(struct gi_test *test, uint32_t token, float *row, double *expected)
{
    const struct gi_embed_token_params *params = (const void *)test->params;
    const float *gamma = vector(test, 1, params->gamma, params->n_embd);
    const float *turns =
        vector(test, 1, params->rope_table + test->n_past * params->n_rot, params->n_rot);
    test->state.token = token;
    gi_test_write_state(test);
    gi_test_run(test);
    // The last group copies the rotations.
    const uint32_t n_ssq = test->dispatch->grid.size[0] - 1;
    if (test->has_failed || !gi_weight_sample_row(test->sample, token - params->row_begin, row)) {
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

void gi_check_embed_token(struct gi_test *test)
{
    const struct gi_embed_token_params *params = (const void *)test->params;
    const struct gi_step_state before = test->state;
    float *row = gi_test_memory(test, params->n_embd, sizeof(*row));
    double *expected = gi_test_memory(test, params->n_embd, sizeof(*expected));
    for (uint32_t i = 0; !test->has_failed && i < N_EMBEDDED; i++) {
        const uint32_t n_memory = test->n_memory;
        const uint32_t token = sampled_token(test, i, params->row_begin);
        if (token != UINT32_MAX) {
            check_embedded(test, token, row, expected);
        }
        gi_test_rewind(test, n_memory);
    }
    test->state = before;
    gi_test_write_state(test);
    gi_test_run(test); // the token that the entries after it read
}

// Fills the tokens of a batch with those of sampled rows. NULL with has_failed.
static uint32_t *choose_tokens(struct gi_test *test, uint32_t row_begin)
{
    uint32_t *tokens = gi_test_memory(test, test->n_tokens, sizeof(*tokens));
    for (uint32_t i = 0; tokens && i < test->n_tokens; i++) {
        const uint32_t token = sampled_token(test, i, row_begin);
        tokens[i] = token == UINT32_MAX ? row_begin : token;
    }
    gi_test_write(test, 1, 0, tokens, test->n_tokens);
    return test->has_failed ? NULL : tokens;
}

// Runs an embedding of the batch's tokens, or of the state's, and compares all rows.
static void check_rows_embedded(struct gi_test *test, const uint32_t *tokens)
{
    const struct gi_embed_batch_params *params = (const void *)test->params;
    const uint32_t n = test->sample->n_cols;
    float *row = gi_test_memory(test, n, sizeof(*row));
    gi_test_run(test);
    const float *rows = gi_test_rows(test, 0, 0, params->stride, n);
    for (uint32_t token = 0; rows && token < test->n_tokens;
         token = gi_test_next_token(test, token, n, false)) {
        const float *x = rows + (uint64_t)token * params->stride;
        const bool is_known =
            gi_weight_sample_row(test->sample, tokens[token] - params->row_begin, row);
        for (uint32_t i = 0; is_known && i < n; i++) {
            const double expected = (double)params->scale * row[i];
            gi_test_expect(test, "x", i, expected, 1e-6 + fabs(expected), x[i]);
        }
    }
}

void gi_check_embed_batch(struct gi_test *test)
{
    const struct gi_embed_batch_params *params = (const void *)test->params;
    const struct gi_step_state before = test->state;
    if (!gi_test_define(test, "STEP") && !gi_test_is_of_slots(test)) {
        const uint32_t *tokens = choose_tokens(test, params->row_begin);
        if (tokens) {
            check_rows_embedded(test, tokens);
        }
        return;
    }
    for (uint32_t i = N_EMBEDDED; i-- > 0 && !test->has_failed;) {
        const uint32_t n_memory = test->n_memory;
        test->state.token = sampled_token(test, i, params->row_begin);
        if (test->state.token != UINT32_MAX) {
            gi_test_write_state(test);
            check_rows_embedded(test, &test->state.token);
        }
        gi_test_rewind(test, n_memory);
    }
    test->state = before;
    gi_test_write_state(test);
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

// Returns row `token` of results of n columns, which rows has of all tokens unless they are in f16.
static const float *result_row(struct gi_test *test, bool is_half, const float *rows,
                               uint32_t token, uint32_t stride, uint32_t n)
{
    return is_half ? gi_test_half_row(test, 0, 0, token, n, half_tiles(n))
                   : rows + (uint64_t)token * stride;
}

// Reads the results of all tokens, NULL if they are in f16.
static const float *read_results(struct gi_test *test, bool is_half, uint32_t begin,
                                 uint32_t stride, uint32_t n)
{
    return is_half ? NULL : gi_test_rows(test, 0, begin, stride, n);
}

void gi_check_rmsnorm(struct gi_test *test)
{
    const struct gi_rmsnorm_params *params = (const void *)test->params;
    const bool is_half = gi_test_define(test, "HALF"), is_added = gi_test_define(test, "ADD");
    const bool is_scaled = gi_test_define(test, "SCALED");
    const uint32_t n = params->width;
    const float *gamma = vector(test, 2, params->gamma, n);
    const float *x = gi_test_rows(test, 1, 0, params->x_stride, n);
    const float *before = is_added ? gi_test_rows(test, 0, 0, params->y_stride, n) : NULL;
    const float *out_scale = is_scaled ? vector(test, 2, params->scale, 1) : NULL;
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    gi_test_run(test);
    const float *rows = read_results(test, is_half, 0, params->y_stride, n);
    for (uint32_t token = 0; !test->has_failed && token < test->n_tokens;
         token = gi_test_next_token(test, token, n, is_half)) {
        const uint32_t n_memory = test->n_memory;
        const float *y = result_row(test, is_half, rows, token, params->y_stride, n);
        const float *own = x + (uint64_t)token * params->x_stride;
        const double scale = 1 / sqrt(gi_ref_mean_square(own, n, 0) + params->eps);
        const double out = out_scale ? out_scale[0] : 1;
        for (uint32_t i = 0; y && i < n; i++) {
            const double value = own[i] * scale * gamma[i],
                         old = before ? before[(uint64_t)token * params->y_stride + i] : 0;
            expected[i] = out * (value + old);
            magnitude[i] = fabs(out) * (fabs(value) + fabs(old));
        }
        expect_row(test, expected, magnitude, y, n, is_half);
        gi_test_rewind(test, n_memory);
    }
}

// Takes a batch, or the stream of a step, whose norm it writes from its residual.
void gi_check_layernorm(struct gi_test *test)
{
    const struct gi_layernorm_params *params = (const void *)test->params;
    const bool is_half = gi_test_define(test, "HALF"), is_batch = gi_test_define(test, "BATCH");
    const uint32_t n_token = is_batch ? test->n_tokens : 1, n = params->width;
    const float *gamma = vector(test, 2, params->gamma, n);
    const float *beta = vector(test, 2, params->beta, n);
    const float *rows_x = is_batch ? gi_test_rows(test, 1, params->residual, params->x_stride, n)
                                   : gi_test_floats(test, 0, params->residual, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    gi_test_run(test);
    const float *rows = is_batch ? read_results(test, is_half, 0, params->y_stride, n)
                                 : gi_test_floats(test, 0, params->norm, n);
    for (uint32_t token = 0; !test->has_failed && token < n_token;
         token = gi_test_next_token(test, token, n, is_half)) {
        const uint32_t n_memory = test->n_memory;
        const float *y = result_row(test, is_half, rows, token, params->y_stride, n);
        const float *x = rows_x + (uint64_t)token * params->x_stride;
        const double mean = gi_ref_mean(x, n);
        const double scale = 1 / sqrt(gi_ref_mean_square(x, n, mean) + params->eps);
        for (uint32_t i = 0; y && i < n; i++) {
            expected[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
            magnitude[i] = (fabs((double)x[i]) + fabs(mean)) * scale * fabs((double)gamma[i]) +
                           fabs((double)beta[i]);
        }
        expect_row(test, expected, magnitude, y, n, is_half);
        gi_test_rewind(test, n_memory);
    }
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
    const double scale = 1 / sqrt(gi_ref_mean_square(y, n, 0) + params->eps);
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
    const uint32_t n = params->width;
    const float *x = gi_test_rows(test, 1, 0, params->x_stride, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    gi_test_run(test);
    for (uint32_t token = 0; !test->has_failed && token < test->n_tokens;
         token = gi_test_next_token(test, token, n, true)) {
        const uint32_t n_memory = test->n_memory;
        const float *y = gi_test_half_row(test, 0, 0, token, n, half_tiles(n));
        for (uint32_t i = 0; i < n; i++) {
            expected[i] = x[(uint64_t)token * params->x_stride + i];
        }
        expect_row(test, expected, expected, y, n, true);
        gi_test_rewind(test, n_memory);
    }
}

void gi_check_pack_rows(struct gi_test *test)
{
    const struct gi_half_rows_params *params = (const void *)test->params;
    const uint32_t n = params->width;
    const float *x = gi_test_rows(test, 0, 0, params->x_stride, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    gi_test_run(test);
    for (uint32_t token = 0; !test->has_failed && token < test->n_tokens;
         token = gi_test_next_token(test, token, n, true)) {
        const uint32_t n_memory = test->n_memory;
        const float *y = gi_test_packed_row(test, 0, token, params->x_stride, n);
        for (uint32_t i = 0; i < n; i++) {
            expected[i] = x[(uint64_t)token * params->x_stride + i];
        }
        expect_row(test, expected, expected, y, n, true);
        gi_test_rewind(test, n_memory);
    }
    gi_test_fill_rows(test, 0, false, params->x_stride, n, 1);
}

// Compares row `row` of the results, which comes from row `from` of gate and up.
static void expect_glu(struct gi_test *test, const float *gate_up, uint32_t from, const float *act,
                       double *expected, double *magnitude)
{
    const struct gi_glu_params *params = (const void *)test->params;
    const uint32_t activation = (uint32_t)gi_test_define(test, "ACTIVATION");
    const bool is_gated = !gi_test_define(test, "UNGATED");
    const struct gi_xielu xielu = {params->square, params->fall, params->slope, params->edge};
    const float *g = gate_up + (uint64_t)from * params->gate_up_stride + params->gate_begin;
    const float *u = g + params->n_part;
    for (uint32_t i = 0; i < params->n_column; i++) {
        expected[i] = gi_ref_activate(activation, &xielu, g[i]) *
                      (is_gated ? gi_ref_linear_factor(activation, u[i]) : 1);
        // An error of the exponential grows with its argument.
        magnitude[i] = fabs(expected[i]) * (2 + fabs((double)g[i])) + fabs((double)xielu.fall);
    }
    expect_row(test, expected, magnitude, act, params->n_column, gi_test_define(test, "HALF"));
}

void gi_check_glu(struct gi_test *test)
{
    const struct gi_glu_params *params = (const void *)test->params;
    const bool is_half = gi_test_define(test, "HALF");
    const uint32_t each = (uint32_t)gi_test_define(test, "EACH"); // rows of a token; 0: one
    const uint32_t n_row = test->n_tokens * (each > 0 ? each : 1), n = params->n_column;
    const uint64_t last = n_row - 1, end = params->gate_begin + params->n_part + n;
    const float *routes =
        gi_test_define(test, "SORTED") ? gi_test_floats(test, 2, 0, 4 * (size_t)n_row) : NULL;
    const float *gate_up = gi_test_floats(test, 1, 0, last * params->gate_up_stride + end);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    gi_test_run(test);
    const float *rows =
        is_half ? NULL
                : gi_test_floats(test, 0, 0, last * params->act_stride + params->act_begin + n);
    const uint32_t step = 1 + (uint32_t)(is_half ? last / 2 : (uint64_t)n_row * n >> 18);
    for (uint32_t row = 0; !test->has_failed && row < n_row;
         row = row == last || row + step < last ? row + step : (uint32_t)last) {
        const uint32_t n_memory = test->n_memory;
        const float *route = routes ? routes + (size_t)4 * row : NULL;
        const float *act =
            is_half ? gi_test_half_row(test, 0, 0, route ? (uint32_t)route[3] : row,
                                       params->act_begin + n, half_tiles(params->act_stride))
                    : rows + (uint64_t)row * params->act_stride;
        if (act) {
            expect_glu(test, gate_up, route ? (uint32_t)route[2] : row, act + params->act_begin,
                       expected, magnitude);
        }
        gi_test_rewind(test, n_memory);
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
