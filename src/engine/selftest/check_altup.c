// Streams of the residual, the branch beside attention, and gates of which few are open: what
// glsl/altup and norm/sparse_glu.comp say that they compute. Of a batch the last token is compared.
#include "engine/selftest/test_case.h"
#include "engine/selftest/test_rows.h"
#include "glsl/altup/altup_params.h"
#include "glsl/norm/norm_params.h"
#include "ops/altup/altup.h"

#include <math.h>

enum { N = GI_ALTUP_STREAMS };

static double mean_square(const double *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sum / n;
}

static double mean_square_of(const float *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)x[i] * x[i];
    }
    return sum / n;
}

static uint32_t last_token(const struct gi_test *test)
{
    return test->n_tokens - 1;
}

// Returns norm(y) of the last token, zeros if the kernel has no y at the binding. The rows are
// written first, since what is there may be halves. NULL with has_failed.
static double *read_normed(struct gi_test *test, uint32_t binding, uint32_t stride, uint32_t n,
                           uint32_t gamma_at, float eps)
{
    double *normed = gi_test_memory(test, n, sizeof(*normed));
    if (!test->dispatch->bindings[binding].buffer) {
        return normed;
    }
    gi_test_fill_rows(test, binding, false, stride, n, 1);
    const float *gamma = gi_test_floats(test, 2, gamma_at, n);
    const float *y = gi_test_floats(test, binding, (uint64_t)last_token(test) * stride, n);
    const double scale = test->has_failed ? 0 : 1 / sqrt(mean_square_of(y, n) + eps);
    for (uint32_t i = 0; !test->has_failed && i < n; i++) {
        normed[i] = y[i] * scale * gamma[i];
    }
    return test->has_failed ? NULL : normed;
}

// The weights of a router, and how many rows of coefficients it has.
struct router {
    uint32_t norm, matrix, coefs, n_rows;
    float eps;
};

// Works out the shares that a router gives for a. Returns false with has_failed.
static bool find_shares(struct gi_test *test, const struct router *router, const double *a,
                        uint32_t n, double *shares)
{
    const float *gamma = gi_test_floats(test, 2, router->norm, n);
    const float *matrix = gi_test_floats(test, 2, router->matrix, (size_t)N * n);
    const float *coefs = gi_test_floats(test, 2, router->coefs, (size_t)N * router->n_rows);
    double modalities[N] = {0};
    const double scale = test->has_failed ? 0 : 1 / sqrt(mean_square(a, n) + router->eps);
    for (uint32_t i = 0; !test->has_failed && i < N * n; i++) {
        modalities[i / n] += matrix[i] * a[i % n] * scale * gamma[i % n];
    }
    for (uint32_t i = 0; !test->has_failed && i < N * router->n_rows; i++) {
        shares[i / N] = (i % N == 0 ? 0 : shares[i / N]) + coefs[i] * tanh(modalities[i % N] / n);
    }
    return !test->has_failed;
}

// Returns by what a row of n is multiplied that becomes as long as `first`.
static double length_factor(const float *first, const float *row, uint32_t n)
{
    return sqrt(mean_square_of(first, n) / fmax(mean_square_of(row, n), 1e-30));
}

void gi_check_altup_embed(struct gi_test *test)
{
    const struct gi_altup_embed_params *params = (const void *)test->params;
    const uint32_t token = last_token(test), n = params->n_embd;
    const float *x =
        gi_test_floats(test, 1, params->x_begin + (uint64_t)token * params->x_stride, n);
    const float *y = gi_test_floats(test, 2, (uint64_t)token * params->y_stride, 3ull * n);
    gi_test_run(test);
    const float *streams = gi_test_floats(test, 0, (uint64_t)token * params->stride, (size_t)N * n);
    for (uint32_t s = 0; streams && s < N; s++) {
        const float *row = s == 0 ? x : y + (size_t)(s - 1) * n;
        const double factor = length_factor(x, row, n);
        for (uint32_t i = 0; i < n; i++) {
            const double expected = row[i] * factor;
            gi_test_expect(test, "streams", s * n + i, expected, fabs(expected),
                           streams[s * n + i]);
        }
    }
}

// Compares what a step's next product reads of a residual.
static void expect_norm(struct gi_test *test, uint32_t binding, const double *x,
                        const double *magnitude, uint32_t n, uint32_t gamma_at, uint32_t norm_at)
{
    const float *gamma = gi_test_floats(test, 2, gamma_at, n);
    const float *norm = gi_test_floats(test, binding, norm_at, n);
    for (uint32_t i = 0; !test->has_failed && i < n; i++) {
        gi_test_expect(test, "norm", i, x[i] * gamma[i], magnitude[i] * fabs((double)gamma[i]),
                       norm[i]);
    }
}

// Compares n values of a binding.
static void expect_all(struct gi_test *test, const char *what, uint32_t binding, uint64_t at,
                       const double *expected, const double *magnitude, uint32_t n)
{
    const float *found = gi_test_floats(test, binding, at, n);
    for (uint32_t i = 0; found && i < n; i++) {
        gi_test_expect(test, what, i, expected[i], 1e-6 + magnitude[i], found[i]);
    }
}

void gi_check_altup_predict(struct gi_test *test)
{
    const struct gi_altup_predict_params *params = (const void *)test->params;
    const bool is_batch = gi_test_define(test, "BATCH");
    const uint32_t token = last_token(test), n = params->n_embd;
    const uint64_t at = (uint64_t)token * params->stride;
    const struct router router = {params->router_norm, params->router, params->coefs, N * N,
                                  params->eps};
    const double *own = read_normed(test, 3, params->y_stride, n, params->input_gamma, params->eps);
    const float *streams = gi_test_floats(test, 0, at, (size_t)N * n);
    double *c = gi_test_memory(test, (size_t)N * n, sizeof(*c)), shares[N * N];
    double *expected = gi_test_memory(test, (size_t)N * n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, (size_t)N * n, sizeof(*magnitude));
    for (uint32_t i = 0; !test->has_failed && i < N * n; i++) {
        c[i] = streams[i] + (i < n ? 0 : own[i % n]);
    }
    if (test->has_failed || !find_shares(test, &router, c, n, shares)) {
        return;
    }
    for (uint32_t i = 0; n > 0 && i < N * n; i++) {
        const double *share = shares + (size_t)N * (i / n);
        expected[i] = c[i];
        magnitude[i] = fabs((double)streams[i]) + fabs(own[i % n]);
        for (uint32_t a = 0; a < N; a++) {
            expected[i] += share[a] * c[a * n + i % n];
            magnitude[i] += (1 + fabs(share[a])) * fabs(c[a * n + i % n]);
        }
    }
    gi_test_run(test);
    expect_all(test, "streams", 0, at + n, expected + n, magnitude + n, (N - 1) * n);
    expect_all(test, "x", 1, params->residual + (uint64_t)token * params->x_stride, expected,
               magnitude, n);
    if (!is_batch) {
        expect_norm(test, 1, expected, magnitude, n, params->gamma, params->norm);
    }
}

void gi_check_laurel_join(struct gi_test *test)
{
    const struct gi_laurel_join_params *params = (const void *)test->params;
    const bool is_batch = gi_test_define(test, "BATCH");
    const uint32_t token = last_token(test), n = params->n_embd;
    const uint64_t x_at = params->residual + (uint64_t)token * params->x_stride;
    const uint64_t side_at = (uint64_t)token * params->side_stride;
    const double *y = read_normed(test, 1, params->y_stride, n, params->y_gamma, params->eps);
    const float *x = gi_test_floats(test, 0, x_at, n);
    const float *x_gamma = gi_test_floats(test, 2, params->x_gamma, n);
    const float *branch = gi_test_floats(test, 3, side_at + params->l_begin, n);
    const float *gamma = gi_test_floats(test, 2, params->l_gamma, n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    const double x_scale = test->has_failed ? 0 : 1 / sqrt(mean_square_of(x, n) + params->eps);
    const double scale = test->has_failed ? 0 : 1 / sqrt(mean_square_of(branch, n) + params->eps);
    for (uint32_t i = 0; !test->has_failed && i < n; i++) {
        const double own = x[i] * x_scale * x_gamma[i], added = branch[i] * scale * gamma[i];
        expected[i] = (x[i] + y[i] + own + added) / sqrt(2);
        magnitude[i] = fabs((double)x[i]) + fabs(y[i]) + fabs(own) + fabs(added);
    }
    gi_test_run(test);
    if (test->has_failed) {
        return;
    }
    expect_all(test, "x", is_batch ? 0 : 3, is_batch ? x_at : params->z_begin, expected, magnitude,
               n);
    if (!is_batch) {
        expect_norm(test, 0, expected, magnitude, n, params->gamma, params->norm);
    }
}

void gi_check_altup_correct(struct gi_test *test)
{
    const struct gi_altup_correct_params *params = (const void *)test->params;
    const bool is_batch = gi_test_define(test, "BATCH");
    const uint32_t token = last_token(test), n = params->n_embd;
    const uint64_t at = (uint64_t)token * params->stride;
    const uint64_t x_at = params->residual + (uint64_t)token * params->x_stride;
    const struct router router = {params->router_norm, params->router, params->coefs, N,
                                  params->eps};
    double *active = read_normed(test, 3, params->y_stride, n, params->y_gamma, params->eps);
    const float *streams = gi_test_floats(test, 0, at, (size_t)N * n);
    const float *x = gi_test_floats(test, 1, x_at, n);
    const float *z = is_batch ? x : gi_test_floats(test, 0, params->z_begin, n);
    const float *first = is_batch ? streams : x;
    const float *scale = gi_test_floats(test, 2, params->scale, n);
    double *expected = gi_test_memory(test, (size_t)N * n, sizeof(*expected)), shares[N];
    double *magnitude = gi_test_memory(test, (size_t)N * n, sizeof(*magnitude));
    for (uint32_t i = 0; !test->has_failed && i < n; i++) {
        active[i] += z[i];
    }
    if (test->has_failed || !find_shares(test, &router, active, n, shares)) {
        return;
    }
    for (uint32_t i = 0; i < N * n; i++) {
        const double own = i < n ? first[i] : streams[i], share = 1 + shares[i / n];
        const uint32_t column = i % n;
        expected[i] = own + share * (active[column] - first[column]);
        magnitude[i] =
            fabs(own) + (1 + fabs(share)) * (fabs(active[column] - z[column]) +
                                             fabs((double)z[column]) + fabs((double)first[column]));
    }
    gi_test_run(test);
    expect_all(test, "streams", 0, at, expected, magnitude, N * n);
    for (uint32_t i = 0; i < n; i++) {
        expected[i] *= scale[i];
        magnitude[i] *= fabs((double)scale[i]);
    }
    expect_all(test, "x", 1, x_at, expected, magnitude, n);
}

void gi_check_altup_add(struct gi_test *test)
{
    const struct gi_altup_add_params *params = (const void *)test->params;
    const uint32_t n = params->n_embd;
    const uint64_t at = (uint64_t)last_token(test) * params->stride + n;
    const double *own = read_normed(test, 1, params->y_stride, n, params->gamma, params->eps);
    const float *before = gi_test_floats(test, 0, at, 3ull * n);
    gi_test_run(test);
    const float *found = gi_test_floats(test, 0, at, 3ull * n);
    for (uint32_t i = 0; found && i < 3 * n; i++) {
        gi_test_expect(test, "streams", i, before[i] + own[i % n],
                       fabs((double)before[i]) + fabs(own[i % n]), found[i]);
    }
}

void gi_check_altup_merge(struct gi_test *test)
{
    const struct gi_altup_merge_params *params = (const void *)test->params;
    const bool is_batch = gi_test_define(test, "BATCH");
    const uint32_t token = last_token(test), n = params->n_embd;
    const float *first = gi_test_floats(test, 1, (uint64_t)token * params->stride, n);
    const float *u = gi_test_floats(test, 3, (uint64_t)token * params->u_stride, 3ull * n);
    double *expected = gi_test_memory(test, n, sizeof(*expected));
    double *magnitude = gi_test_memory(test, n, sizeof(*magnitude));
    gi_test_run(test);
    for (uint32_t s = 0; !test->has_failed && s < N; s++) {
        const float *row = s == 0 ? first : u + (size_t)(s - 1) * n;
        const double factor = length_factor(first, row, n) / N;
        for (uint32_t i = 0; i < n; i++) {
            expected[i] += row[i] * factor;
            magnitude[i] += fabs(row[i] * factor);
        }
    }
    if (test->has_failed) {
        return;
    }
    expect_all(test, "x", 0, params->residual + (uint64_t)token * params->x_stride, expected,
               magnitude, n);
    if (!is_batch) {
        expect_norm(test, 0, expected, magnitude, n, params->gamma, params->norm);
    }
}

void gi_check_sparse_glu(struct gi_test *test)
{
    const struct gi_sparse_glu_params *params = (const void *)test->params;
    const uint32_t activation = (uint32_t)gi_test_define(test, "ACTIVATION");
    const uint32_t token = last_token(test), n = params->n;
    const struct gi_xielu none = {0}; // no such model has it
    const uint64_t at = (uint64_t)token * params->gate_up_stride;
    const float *g = gi_test_floats(test, 1, at, n);
    const float *u = gi_test_floats(test, 1, at + params->up_begin, n);
    gi_test_run(test);
    const float *act = gi_test_floats(test, 0, (uint64_t)token * params->act_stride, n);
    double mean = 0, squares = 0;
    for (uint32_t i = 0; act && i < n; i++) {
        mean += g[i] / (double)n;
    }
    for (uint32_t i = 0; act && i < n; i++) {
        squares += (g[i] - mean) * (g[i] - mean);
    }
    const double cutoff = mean + (double)params->deviations * sqrt(squares / (n - 1));
    for (uint32_t i = 0; act && i < n; i++) {
        const double gate = fmax(g[i] - cutoff, 0);
        const double expected =
            gi_test_activate(activation, &none, gate) * gi_test_linear_factor(activation, u[i]);
        gi_test_expect(test, "act", i, expected,
                       fabs(expected) * (2 + gate) + fabs((double)u[i]) * (fabs(cutoff) + gate),
                       act[i]);
    }
}
