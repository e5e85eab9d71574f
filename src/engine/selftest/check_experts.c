// Checks of the choice and the order of experts: the kernels of glsl/experts, in double.
#include "engine/selftest/test_case.h"
#include "glsl/experts/experts_params.h"
#include "ops/experts/router_rule.h"

#include <math.h>
#include <stdlib.h>

// Returns the expert of rank `rank` among the logits, the lowest on ties.
static uint32_t ranked(const float *logits, uint32_t n, uint32_t rank)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_before = 0;
        for (uint32_t j = 0; j < n; j++) {
            n_before += logits[j] > logits[i] || (logits[j] == logits[i] && j < i);
        }
        if (n_before == rank) {
            return i;
        }
    }
    return n;
}

static double probability(const float *logits, uint32_t n, uint32_t expert, bool is_sigmoid)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += exp((double)logits[i] - logits[expert]);
    }
    return 1 / (is_sigmoid ? 1 + exp(-(double)logits[expert]) : sum);
}

// Expects the chosen experts and their shares of the result. With a bias, ranks may differ by less
// than the precision of f32, so that only the shares are compared.
static void expect_shares(struct gi_test *test, const float *logits, const float *route)
{
    const struct gi_route_params *params = (const void *)test->params;
    const bool is_sigmoid = gi_test_define(test, "GATING") == GI_GATING_SIGMOID;
    const uint32_t n = params->n_expert;
    double sum = 0;
    for (uint32_t i = 0; i < params->n_used; i++) {
        const float expert = route[4ul * i];
        const bool is_expert = expert >= 0 && expert < (float)n;
        gi_test_expect(test, "expert", i, is_expert, 1, 1);
        sum += is_expert ? probability(logits, n, (uint32_t)expert, is_sigmoid) : 1;
    }
    for (uint32_t i = 0; i < params->n_used && !test->has_failed; i++) {
        const uint32_t expert = (uint32_t)route[4ul * i];
        const double share = params->scale * probability(logits, n, expert, is_sigmoid) /
                             (params->is_normalised ? fmax(sum, 6.1e-5) : 1);
        gi_test_expect(test, "share", i, share, 1 + fabs(share), route[4ul * i + 1]);
        if (!gi_test_define(test, "BIAS")) {
            gi_test_expect(test, "rank", i, ranked(logits, n, i), 1, (float)expert);
        }
    }
}

// Expects the routes after the chosen ones to be those of the shared experts.
static void expect_shared(struct gi_test *test, const float *logits, const float *route)
{
    const struct gi_route_params *params = (const void *)test->params;
    const bool has_gate = params->shared_gate != UINT32_MAX;
    for (uint32_t i = 0; i < params->n_shared; i++) {
        const double share = has_gate ? probability(logits, 0, params->shared_gate, true) : 1;
        gi_test_expect(test, "shared", i, params->n_expert + i, 1, route[4ul * i]);
        gi_test_expect(test, "shared share", i, share, 1, route[4ul * i + 1]);
    }
}

void gi_check_route(struct gi_test *test)
{
    const struct gi_route_params *params = (const void *)test->params;
    const uint32_t token = test->n_tokens - 1, n_used = params->n_used;
    const uint32_t gate = params->shared_gate, n_expert = params->n_expert;
    const float *logits = gi_test_floats(test, 1, (uint64_t)token * params->stride,
                                         gate == UINT32_MAX ? n_expert : gate + 1);
    gi_test_run(test);
    const float *route =
        gi_test_floats(test, 0, (uint64_t)token * params->act_stride + params->route,
                       4ull * (n_used + params->n_shared));
    if (!route) {
        return;
    }
    expect_shared(test, logits, route + 4ul * n_used);
    if (gi_test_define(test, "GATING")) {
        expect_shares(test, logits, route);
        return;
    }
    const double largest = logits[ranked(logits, params->n_expert, 0)];
    double sum = 0;
    for (uint32_t i = 0; i < n_used; i++) {
        sum += exp(logits[ranked(logits, params->n_expert, i)] - largest);
    }
    for (uint32_t i = 0; i < n_used; i++) {
        const uint32_t expert = ranked(logits, params->n_expert, i);
        gi_test_expect(test, "expert", i, expert, 1, route[4ul * i]);
        gi_test_expect(test, "share", i, exp(logits[expert] - largest) / sum, 1,
                       route[4ul * i + 1]);
    }
}

// Expects the places of n routes to be those of a sort by expert, and the runs to match them.
static void expect_sorted(struct gi_test *test, const float *routes, uint32_t n, uint32_t n_expert,
                          const float *runs)
{
    const struct gi_sort_experts_params *params = (const void *)test->params;
    uint32_t *counts = gi_test_memory(test, n_expert, sizeof(*counts));
    uint32_t first = 0, row = 0, run = 0; // first: of the places
    uint32_t *places = gi_test_memory(test, n, sizeof(*places));
    for (uint32_t i = 0; counts && i < n; i++) {
        counts[(uint32_t)routes[(size_t)4 * i]]++;
    }
    for (uint32_t e = 0; counts && places && e < n_expert; e++) {
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t place = (uint32_t)routes[4 * i + 2];
            if ((uint32_t)routes[(size_t)4 * i] == e) {
                const bool is_own = place >= first && place < first + counts[e];
                gi_test_expect(test, "place", i, is_own && places[place]++ == 0, 1, 1);
                gi_test_expect(test, "row", i, place - first + row, 1, routes[4 * i + 3]);
            }
        }
        for (uint32_t i = 0; i < counts[e]; i += params->tile_tokens, run++) {
            gi_test_expect(test, "expert of run", run, e, 1, runs[(size_t)4 * run]);
            gi_test_expect(test, "row of run", run, row + i, 1, runs[4 * run + 1]);
            gi_test_expect(test, "end of run", run, row + counts[e], 1, runs[4 * run + 2]);
            gi_test_expect(test, "shift of run", run, row - first, 1, runs[4 * run + 3]);
        }
        first += counts[e];
        row += (counts[e] + params->row_step - 1) / params->row_step * params->row_step;
    }
}

void gi_check_sort_experts(struct gi_test *test)
{
    const struct gi_sort_experts_params *params = (const void *)test->params;
    const uint32_t n = test->n_tokens * params->n_used;
    const uint32_t n_expert = (uint32_t)gi_test_define(test, "N_EXPERT");
    const uint32_t n_run = (n + params->tile_tokens - 1) / params->tile_tokens + n_expert;
    gi_test_run(test);
    const float *routes = gi_test_floats(test, 0, 4ull * params->route, 4ull * n);
    const float *runs = gi_test_floats(test, 0, 4ull * params->tiles, 4ull * n_run);
    if (routes && runs) {
        expect_sorted(test, routes, n, n_expert, runs);
    }
}
