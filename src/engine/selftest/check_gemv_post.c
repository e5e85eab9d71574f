// Check of projections whose result has a norm: glsl/gemv/gemv_post.comp.
#include "base/round.h"
#include "engine/selftest/test_case.h"
#include "glsl/gemv/gemv_params.h"

#include <math.h>
#include <string.h>

bool gi_test_add_part_sums(struct gi_test *test, uint32_t binding, uint64_t at, uint32_t n,
                           double sums[4])
{
    const float *part = gi_test_floats(test, binding, at, 4ull * n);
    memset(sums, 0, 4 * sizeof(sums[0]));
    for (uint32_t i = 0; part && i < 4 * n; i++) {
        sums[i % 4] += (double)part[i];
    }
    return part;
}

void gi_test_add_second(struct gi_test *test, uint64_t begin, float *x)
{
    const struct gi_gemv_plain_params *params = (const void *)test->params;
    const uint64_t u_offset = gi_round_up((uint64_t)params->n_block * GI_QUANT_BLOCK, 64);
    const float *u = gi_test_floats(test, 1, begin + u_offset, test->sample->n_cols);
    double sums[4];
    if (u && gi_test_add_part_sums(test, 1, 4ull * params->ssq, params->n_ssq, sums)) {
        const double scale = 1 / sqrt(sums[3] * params->inv_n_embd + params->norm_eps);
        for (uint32_t i = 0; i < test->sample->n_cols; i++) {
            x[i] = (float)(x[i] + scale * u[i]);
        }
    }
}

// Compares the sums of results that were compared before. That of y^2 derives y from u = c * post *
// y unless a weight of the norm is 0.
static void check_part_sums(struct gi_test *test, const float *r, const float *u, const float *post,
                            double c, uint32_t n)
{
    const struct gi_gemv_post_params *params = (const void *)test->params;
    const uint32_t each = gi_test_define(test, "WG_SIZE") == 8 ? 8 : 1;
    double sums[4], expected[4] = {0}, magnitude = 0;
    bool has_all = true;
    if (!gi_test_add_part_sums(test, 0, params->sums, test->dispatch->grid.size[0] * each, sums)) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        expected[0] += (double)r[i] * r[i];
        expected[1] += (double)r[i] * u[i];
        expected[2] += (double)u[i] * u[i];
        magnitude += fabs((double)r[i] * u[i]);
        const double weight = c * (double)post[i], y = weight != 0 ? u[i] / weight : 0;
        expected[3] += y * y;
        has_all = has_all && weight != 0;
    }
    gi_test_expect(test, "sum of r r", 0, expected[0], expected[0], (float)sums[0]);
    gi_test_expect(test, "sum of r u", 0, expected[1], magnitude, (float)sums[1]);
    gi_test_expect(test, "sum of u u", 0, expected[2], expected[2], (float)sums[2]);
    if (has_all) {
        gi_test_expect(test, "sum of y y", 0, expected[3], expected[3], (float)sums[3]);
    }
}

// The two parts of a split residual or its norm.
struct both {
    const float *first, *second;
};

static struct both read_both(struct gi_test *test, uint32_t begin, uint32_t n)
{
    const struct gi_gemv_post_params *params = (const void *)test->params;
    const uint64_t at = (uint64_t)begin + params->row_begin;
    return (struct both){gi_test_floats(test, 0, at, n),
                         gi_test_floats(test, 0, at + params->u_offset, n)};
}

// Factors in the rows of gemv_post: the scale of the old residual, and c.
struct post_scales {
    double old, c;
};

static struct post_scales read_post_scales(struct gi_test *test)
{
    const struct gi_gemv_post_params *params = (const void *)test->params;
    const float *c =
        gi_test_define(test, "SCALED") ? gi_test_floats(test, 3, params->scale, 1) : NULL;
    struct post_scales scales = {0, c ? *c : 1};
    double sums[4];
    if (gi_test_define(test, "HAS_UPDATE") &&
        gi_test_add_part_sums(test, 0, params->old_sums, params->n_old, sums)) {
        scales.old = 1 / sqrt(sums[3] * params->inv_n_embd + params->norm_eps);
    }
    return scales;
}

static void expect_both(struct gi_test *test, const char *what, uint32_t row,
                        const struct gi_ref_value expected[2], double weight,
                        const struct both *found)
{
    gi_test_expect(test, what, row, expected[0].value * weight,
                   expected[0].magnitude * fabs(weight), found->first[row]);
    gi_test_expect(test, what, row, expected[1].value * weight,
                   expected[1].magnitude * fabs(weight), found->second[row]);
}

void gi_check_gemv_post(struct gi_test *test)
{
    const struct gi_gemv_post_params *params = (const void *)test->params;
    const uint32_t end = params->row_begin + 16 * params->n_pair;
    const uint32_t n = (end < params->n_embd ? end : params->n_embd) - params->row_begin;
    const bool has_gamma = gi_test_define(test, "HAS_GAMMA");
    const float *x = gi_test_floats(test, 1, 4ull * params->source, test->sample->n_cols);
    const struct both before = read_both(test, params->residual, n);
    const float *post = gi_test_floats(test, 3, params->post, n);
    const float *gamma = has_gamma ? gi_test_floats(test, 3, params->gamma, n) : NULL;
    const struct post_scales scales = read_post_scales(test);
    gi_test_run(test);
    const struct both residual = read_both(test, params->residual, n);
    const struct both norm = read_both(test, params->norm, n);
    for (uint32_t i = 0; norm.second && i < gi_test_n_sampled(test); i++) {
        struct gi_ref_value y;
        const uint32_t row = gi_test_sampled_row(test, i);
        if (row < n && gi_test_dot(test, row, x, gi_test_own_bias(test, params->bias), &y)) {
            const double r = before.first[row], u = scales.old * before.second[row];
            const double weight = scales.c * post[row];
            const struct gi_ref_value expected[2] = {
                {scales.c * (r + u), fabs(scales.c) * (fabs(r) + fabs(u))},
                {weight * y.value, fabs(weight) * y.magnitude}};
            expect_both(test, "residual", row, expected, 1, &residual);
            if (gamma) {
                expect_both(test, "norm", row, expected, gamma[row], &norm);
            }
        }
    }
    if (!test->has_failed) {
        check_part_sums(test, residual.first, residual.second, post, scales.c, n);
    }
}
