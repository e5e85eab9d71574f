// Tests samplers: 100,000 choices of each against the probabilities of its formula.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/sampler/twelve_logits.h"

#include <math.h>

enum { N_CHOICES = 100000 };

//-- formulas --------------------------------------------------------------------------------------

// p of each token, and the tokens with the likeliest first.
struct shares {
    double x[N]; // logits; -INFINITY: dropped
    double p[N];
    uint32_t order[N];
};

static void share(struct shares *s)
{
    double total = 0;
    for (uint32_t i = 0; i < N; i++) {
        total += exp(s->x[i]);
    }
    for (uint32_t i = 0; i < N; i++) {
        s->p[i] = exp(s->x[i]) / total;
        uint32_t before = 0;
        for (uint32_t j = 0; j < N; j++) {
            before += s->x[j] > s->x[i] || (s->x[j] == s->x[i] && j < i);
        }
        s->order[before] = i;
    }
}

static struct shares all_shares(void)
{
    struct shares s;
    for (uint32_t i = 0; i < N; i++) {
        s.x[i] = logits[i];
    }
    share(&s);
    return s;
}

// Drops all from place n of the order on.
static void cut(struct shares *s, uint32_t n)
{
    for (uint32_t i = n; i < N; i++) {
        s->x[s->order[i]] = -INFINITY;
    }
    share(s);
}

static double entropy_of(const struct shares *s)
{
    double entropy = 0;
    for (uint32_t i = 0; i < N; i++) {
        entropy -= s->p[i] > 0 ? s->p[i] * log(s->p[i]) : 0;
    }
    return entropy;
}

static void divide(struct shares *s, double temperature)
{
    for (uint32_t i = 0; i < N; i++) {
        s->x[i] /= temperature;
    }
    share(s);
}

//-- chi-square ------------------------------------------------------------------------------------

// Chooses N_CHOICES times, at different positions, and compares the counts with p: the sum of
// squares is about the number of possible tokens, with a standard deviation of the root of twice
// that.
static void check_choices(const struct gi_sampler_params *params, const uint32_t *text,
                          uint32_t n_text, const double *p)
{
    uint32_t counts[N] = {0}, n_possible = 0;
    struct gi_sampler_chain *chain = create(params);
    for (uint32_t i = 0; i < n_text; i++) {
        gi_sampler_chain_accept(chain, text[i]);
    }
    for (uint32_t i = 0; i < N_CHOICES; i++) {
        const uint32_t token = apply(chain, i);
        assert_true(token < N);
        counts[token]++;
    }
    gi_sampler_chain_destroy(chain);
    double sum = 0;
    for (uint32_t i = 0; i < N; i++) {
        const double expected = p[i] * N_CHOICES;
        if (p[i] < 1e-9) {
            assert_int_equal(counts[i], 0);
            continue;
        }
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
        n_possible++;
    }
    if (!(sum < n_possible + 5 * sqrt(2.0 * n_possible))) {
        fail_msg("chi-square %g of %u tokens", sum, n_possible);
    }
}

TEST(temperature_divides_logits)
{
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    check_choices(&params, NULL, 0, s.p);
    params.temperature = 0.6f;
    divide(&s, 0.6f);
    check_choices(&params, NULL, 0, s.p);
}

TEST(dynamic_temperature_follows_entropy)
{
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.temperature = 0.9f;
    params.values.dynatemp_range = 0.5f;
    params.values.dynatemp_exponent = 1.5f;
    divide(&s, 0.4 + pow(entropy_of(&s) / log(N), 1.5));
    check_choices(&params, NULL, 0, s.p);
}

TEST(top_k_and_min_p_keep_the_likeliest)
{
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.top_k = 5;
    cut(&s, 5);
    check_choices(&params, NULL, 0, s.p);
    params.min_p = 0.3f;
    uint32_t n = 0;
    while (n < 5 && s.p[s.order[n]] >= 0.3 * s.p[s.order[0]]) {
        n++;
    }
    cut(&s, n);
    assert_in_range(n, 2, 4);
    check_choices(&params, NULL, 0, s.p);
}

TEST(top_p_keeps_the_fewest_that_reach_it)
{
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.top_p = 0.7f;
    uint32_t n = 0;
    for (double sum = 0; sum < 0.7; n++) {
        sum += s.p[s.order[n]];
    }
    cut(&s, n);
    check_choices(&params, NULL, 0, s.p);
    params.values.min_keep = n + 2;
    s = all_shares();
    cut(&s, n + 2);
    check_choices(&params, NULL, 0, s.p);
}

TEST(typical_keeps_what_is_near_the_entropy)
{
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.values.typical_p = 0.5f;
    const double entropy = entropy_of(&s);
    double distance[N], sum = 0;
    bool is_kept[N] = {false};
    for (uint32_t i = 0; i < N; i++) {
        distance[i] = fabs(-log(s.p[i]) - entropy);
    }
    while (sum <= 0.5) {
        uint32_t nearest = N;
        for (uint32_t i = 0; i < N; i++) {
            if (!is_kept[i] && (nearest == N || distance[i] < distance[nearest])) {
                nearest = i;
            }
        }
        is_kept[nearest] = true;
        sum += s.p[nearest];
    }
    for (uint32_t i = 0; i < N; i++) {
        s.x[i] = is_kept[i] ? s.x[i] : -INFINITY;
    }
    share(&s);
    check_choices(&params, NULL, 0, s.p);
}

TEST(top_n_sigma_keeps_what_is_near_the_largest)
{
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.values.top_n_sigma = 0.8f;
    double mean = 0, squares = 0;
    for (uint32_t i = 0; i < N; i++) {
        mean += s.x[i] / N;
    }
    for (uint32_t i = 0; i < N; i++) {
        squares += (s.x[i] - mean) * (s.x[i] - mean) / N;
    }
    const double least = s.x[s.order[0]] - 0.8 * sqrt(squares);
    for (uint32_t i = 0; i < N; i++) {
        s.x[i] = s.x[i] >= least ? s.x[i] : -INFINITY;
    }
    share(&s);
    check_choices(&params, NULL, 0, s.p);
}

TEST(xtc_drops_top_choices_now_and_then)
{
    struct gi_sampler_params params = plain();
    const struct shares whole = all_shares();
    struct shares s = whole;
    params.values.xtc_probability = 0.4f;
    params.values.xtc_threshold = 0.1f;
    uint32_t n = 0;
    while (s.p[s.order[n]] >= 0.1) {
        n++;
    }
    assert_true(n > 1);
    for (uint32_t i = 0; i + 1 < n; i++) {
        s.x[s.order[i]] = -INFINITY;
    }
    share(&s);
    for (uint32_t i = 0; i < N; i++) {
        s.p[i] = 0.4 * s.p[i] + 0.6 * whole.p[i];
    }
    check_choices(&params, NULL, 0, s.p);
}

TEST(penalties_count_the_last_tokens)
{
    static const uint32_t text[] = {9, 9, 9, 2, 5, 2, 11, 2, 7};
    static const uint32_t counts[N] = {[2] = 3, [5] = 1, [7] = 1, [11] = 1};
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.penalties = (struct gi_penalties){6, 1.5f, 0.25f, 0.5f};
    for (uint32_t i = 0; i < N; i++) {
        if (counts[i] > 0) {
            s.x[i] = s.x[i] > 0 ? s.x[i] / 1.5 : s.x[i] * 1.5;
            s.x[i] -= 0.5 * counts[i] + 0.25;
        }
    }
    share(&s);
    check_choices(&params, text, 9, s.p);
}

TEST(dry_punishes_what_goes_on_as_before)
{
    static const uint32_t text[] = {1, 2, 3, 4, 0, 2, 3, 6, 5, 1, 2, 3};
    static const uint32_t breaker[] = {0};
    const struct gi_breaker breakers[] = {{breaker, 1}};
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.dry = (struct gi_dry){.multiplier = 0.5f, .base = 2, .allowed_length = 2, .last_n = 64};
    s.x[4] -= 0.5 * 2; // after 1, 2, 3
    s.x[6] -= 0.5;     // after 2, 3
    share(&s);
    check_choices(&params, text, 12, s.p);
    params.dry.breakers = breakers;
    params.dry.n_breaker = 1;
    check_choices(&params, text, 12, s.p); // 7 tokens after the breaker allow it, too
}

TEST(a_breaker_bounds_repetitions)
{
    static const uint32_t text[] = {1, 2, 3, 4, 1, 2, 3};
    static const uint32_t breaker[] = {1, 2};
    const struct gi_breaker breakers[] = {{breaker, 2}};
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.dry = (struct gi_dry){.multiplier = 1, .base = 2, .allowed_length = 1, .last_n = 64};
    params.dry.breakers = breakers;
    params.dry.n_breaker = 1;
    s.x[4] -= 1; // only 3 is after the breaker
    share(&s);
    check_choices(&params, text, 7, s.p);
}

TEST(a_bias_is_added_and_bans)
{
    const struct gi_logit_bias bias[] = {{1, 2.0f}, {2, -INFINITY}, {11, -1.5f}};
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.bias = bias;
    params.n_bias = 3;
    s.x[1] += 2;
    s.x[2] = -INFINITY;
    s.x[11] -= 1.5;
    share(&s);
    check_choices(&params, NULL, 0, s.p);
}

TEST(mirostat_2_drops_what_surprises_more)
{
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.values.mirostat = 2;
    params.values.mirostat_tau = 1.5f; // bits; the first choice allows the double
    uint32_t n = 0;
    while (-log2(s.p[s.order[n]]) <= 3) {
        n++;
    }
    cut(&s, n);
    assert_in_range(n, 2, N - 1);
    check_choices(&params, NULL, 0, s.p);
}

TEST(mirostat_1_keeps_the_number_of_its_slope)
{
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.values.mirostat = 1;
    params.values.mirostat_tau = 1.25f;
    double products = 0, squares = 0;
    for (uint32_t i = 0; i + 1 < N; i++) {
        const double t = log((i + 2.0) / (i + 1.0));
        products += t * log(s.p[s.order[i]] / s.p[s.order[i + 1]]);
        squares += t * t;
    }
    const double slope = products / squares, above = slope - 1;
    const double k = pow(above * pow(2, 2.5) / (1 - pow(N, -above)), 1 / slope);
    assert_true(k >= 2 && k < N);
    cut(&s, (uint32_t)k);
    check_choices(&params, NULL, 0, s.p);
}

TEST(adaptive_p_prefers_tokens_near_its_target)
{
    struct gi_sampler_params params = plain();
    struct shares s = all_shares();
    params.values.adaptive_target = 0.2f;
    for (uint32_t i = 0; i < N; i++) {
        const double distance = fabs(s.p[i] - 0.2) / 0.3;
        s.x[i] = 5 - 10 * distance * distance / (1 + distance);
    }
    share(&s);
    check_choices(&params, NULL, 0, s.p);
}

//-- what adapts -----------------------------------------------------------------------------------

// Returns the mean of a function of p over choices that are accepted.
static double mean_of(const struct gi_sampler_params *params, double (*function)(double p))
{
    const struct shares s = all_shares();
    struct gi_sampler_chain *chain = create(params);
    double sum = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        const uint32_t token = apply(chain, i);
        gi_sampler_chain_accept(chain, token);
        sum += function(s.p[token]) / 4000;
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
