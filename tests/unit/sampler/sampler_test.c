// Tests the choices of samplers: 100,000 of them against probabilities, and what adapts to them.
// Which tokens each sampler keeps, and their probabilities, are tested by sampler_golden_test.c.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/sampler/twelve_logits.h"

#include <math.h>

enum { N_CHOICES = 100000 };

static void find_shares(double temperature, double p[N])
{
    double total = 0;
    for (uint32_t i = 0; i < N; i++) {
        total += p[i] = exp(logits[i] / temperature);
    }
    for (uint32_t i = 0; i < N; i++) {
        p[i] /= total;
    }
}

// Chooses N_CHOICES times, at different positions, and compares the counts with p: the sum of
// squares is about the number of tokens, with a standard deviation of the root of twice that.
static void check_choices(const struct gi_sampler_params *params, const double p[N])
{
    uint32_t counts[N] = {0};
    struct gi_sampler_chain *chain = create(params);
    for (uint32_t i = 0; i < N_CHOICES; i++) {
        const uint32_t token = apply(chain, i);
        assert_true(token < N);
        counts[token]++;
    }
    gi_sampler_chain_destroy(chain);
    double sum = 0;
    for (uint32_t i = 0; i < N; i++) {
        const double expected = p[i] * N_CHOICES;
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    if (!(sum < N + 5 * sqrt(2.0 * N))) {
        fail_msg("chi-square %g", sum);
    }
}

TEST(choices_follow_the_probabilities)
{
    struct gi_sampler_params params = plain();
    double p[N];
    find_shares(1, p);
    check_choices(&params, p);
    params.temperature = 0.6f;
    find_shares(0.6, p);
    check_choices(&params, p);
}

// In 40 % of the choices, all tokens of at least 0.1 but the least likely one are dropped.
TEST(xtc_drops_top_choices_now_and_then)
{
    struct gi_sampler_params params = plain();
    double whole[N], p[N], least = 1, total = 0;
    params.values.xtc_probability = 0.4f;
    params.values.xtc_threshold = 0.1f;
    find_shares(1, whole);
    for (uint32_t i = 0; i < N; i++) {
        least = whole[i] >= 0.1 ? fmin(least, whole[i]) : least;
    }
    for (uint32_t i = 0; i < N; i++) {
        total += whole[i] <= least ? whole[i] : 0;
    }
    for (uint32_t i = 0; i < N; i++) {
        p[i] = 0.4 * (whole[i] <= least ? whole[i] / total : 0) + 0.6 * whole[i];
    }
    assert_true(total < 0.6);
    check_choices(&params, p);
}

//-- what adapts -----------------------------------------------------------------------------------

// Returns the mean of a function of p over choices that are accepted.
static double mean_of(const struct gi_sampler_params *params, double (*function)(double p))
{
    struct gi_sampler_chain *chain = create(params);
    double p[N], sum = 0;
    find_shares(1, p);
    for (uint32_t i = 0; i < 4000; i++) {
        const uint32_t token = apply(chain, i);
        gi_sampler_chain_accept(chain, token);
        sum += function(p[token]) / 4000;
    }
    gi_sampler_chain_destroy(chain);
    return sum;
}

static double surprise_of(double p)
{
    return -log2(p);
}

static double same(double p)
{
    return p;
}

TEST(the_mean_tends_to_the_target)
{
    struct gi_sampler_params params = plain();
    params.values.adaptive_target = 0.2f;
    assert_true(fabs(mean_of(&params, same) - 0.2) < 0.03);
    params.values.adaptive_target = 0.1f;
    assert_true(fabs(mean_of(&params, same) - 0.1) < 0.03);
    params = plain();
    params.values.mirostat = 2;
    params.values.mirostat_tau = 2.0f;
    const double two = mean_of(&params, surprise_of);
    params.values.mirostat_tau = 1.0f;
    const double one = mean_of(&params, surprise_of);
    assert_true(two > 1.9 && two < 2.8 && one < two - 0.3);
}

RUN_TESTS(NULL, NULL)
