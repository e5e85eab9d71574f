// Checks of the embedding: glsl/embed/embed_token and embed_batch.
#include "engine/selftest/test_case.h"
#include "glsl/embed/embed_params.h"

#include <math.h>

// Reads n floats of the vectors at a binding.
static const float *vector(struct gi_test *test, uint32_t binding, uint32_t first, uint32_t n)
{
    return gi_test_floats(test, binding, first, n);
}

// Compares the residual of a stream with n expected values, its norm with their products with
// gamma, and the partial sums of squares.
static void expect_stream(struct gi_test *test, const double *expected, const float *gamma,
                          uint32_t n, uint32_t residual_at, uint32_t norm_at, uint32_t ssq_at,
                          uint32_t n_ssq)
{
    const float *residual = gi_test_floats(test, 0, residual_at, n);
    const float *norm = gi_test_floats(test, 0, norm_at, n);
    const float *ssq = gi_test_floats(test, 0, ssq_at, n_ssq);
    double squares = 0, sum = 0;
    if (test->has_failed) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double weighted = expected[i] * gamma[i];
        gi_test_expect(test, "residual", i, expected[i], 1e-6 + fabs(expected[i]), residual[i]);
        gi_test_expect(test, "norm", i, weighted, 1e-6 + fabs(weighted), norm[i]);
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
    expect_stream(test, expected, gamma, params->n_embd, params->residual, params->norm,
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
