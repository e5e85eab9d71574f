// Tests chains of samplers: their order and state, what is banned, the same choice as the GPU's,
// and memory that is refused.
#include "reference/reference.h"
#include "sampler/philox.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/sampler/twelve_logits.h"

#include <math.h>

//-- order and state -------------------------------------------------------------------------------

static void assert_order(const char *text, const char *letters)
{
    struct gi_sampler_order order, expected;
    assert_true(gi_sampler_order_parse(&order, text, NULL));
    assert_true(gi_sampler_order_parse(&expected, letters, NULL));
    assert_int_equal(order.n, strlen(letters));
    assert_int_equal(order.n, expected.n);
    assert_memory_equal(order.kinds, expected.kinds, order.n * sizeof(order.kinds[0]));
}

TEST(orders_are_names_or_letters)
{
    struct gi_sampler_order order;
    assert_order("penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature", "edskypmxt");
    assert_order("top-k;temp;typical;nucleus;top-n-sigma;adaptive-p", "ktypsa");
    assert_order("", "");
    gi_sampler_order_default(&order);
    assert_int_equal(order.n, GI_SAMPLER_ADAPTIVE_P);
    assert_int_equal(order.kinds[order.n - 1], GI_SAMPLER_TEMPERATURE);
    must_fail(gi_sampler_order_parse(&order, "top_k;tail_free", &err), INVALID_ARGUMENT,
              "'tail_free'");
    must_fail(gi_sampler_order_parse(&order, "kzt", &err), INVALID_ARGUMENT, "");
    must_fail(gi_sampler_order_parse(&order, "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", &err),
              INVALID_ARGUMENT, "");
}

TEST(the_order_decides)
{
    struct gi_sampler_params params = plain();
    params.top_k = 4;
    params.temperature = 0.0f;
    params.order = (struct gi_sampler_order){{GI_SAMPLER_TOP_K}, 1};
    struct gi_sampler_chain *chain = create(&params);
    uint32_t found = 0;
    for (uint32_t i = 0; i < 200; i++) {
        found |= 1u << apply(chain, i);
    }
    assert_int_equal(found, 1u << 2 | 1u << 11 | 1u << 4 | 1u << 6); // no temperature is in it
    gi_sampler_chain_destroy(chain);
    params.order = (struct gi_sampler_order){{GI_SAMPLER_TEMPERATURE, GI_SAMPLER_TOP_K}, 2};
    chain = create(&params);
    assert_int_equal(apply(chain, 0), 2);
    assert_int_equal(gi_sampler_chain_kept(chain)->count, 1);
    gi_sampler_chain_destroy(chain);
}

//-- candidates ------------------------------------------------------------------------------------

TEST(masks_and_infinities_ban)
{
    struct gi_sampler_params params = plain();
    struct gi_sampler_chain *chain = create(&params);
    const uint32_t allowed[1] = {1u << 3 | 1u << 9}, none[1] = {0};
    float own[N];
    for (uint32_t i = 0; i < 200; i++) {
        memcpy(own, logits, sizeof(own));
        const uint32_t token = gi_sampler_chain_apply(chain, own, allowed, i);
        assert_true(token == 3 || token == 9);
        own[3] = -INFINITY;
        assert_int_equal(gi_sampler_chain_apply(chain, own, allowed, i), 9);
        own[9] = NAN;
        assert_int_equal(gi_sampler_chain_apply(chain, own, allowed, i), GI_SAMPLER_NO_TOKEN);
    }
    assert_int_equal(gi_sampler_chain_apply(chain, own, none, 0), GI_SAMPLER_NO_TOKEN);
    gi_sampler_chain_destroy(chain);
}

static uint32_t next_random(uint32_t *random)
{
    return *random = *random * 1664525u + 1013904223u;
}

// Several of these candidates are equal; they are sorted step by step.
TEST(sorting_is_that_of_the_reference)
{
    enum { N_VALUES = 5000 };
    static float values[N_VALUES];
    static uint32_t sorted[N_VALUES], room[N_VALUES];
    static const uint32_t steps[] = {1, 40, 41, 700, 701, 4999, N_VALUES};
    uint32_t random = 1;
    struct gi_candidates list;
    assert_true(gi_candidates_init(&list, N_VALUES, NULL));
    for (int32_t grain = 1; grain < 1 << 30; grain *= 32) {
        for (uint32_t i = 0; i < N_VALUES; i++) {
            values[i] = (float)((int32_t)next_random(&random) / grain) * 0x1p-27f;
            sorted[i] = i;
        }
        gi_ref_sort_ids(values, sorted, N_VALUES, room);
        gi_candidates_fill(&list, values, N_VALUES, NULL);
        for (size_t step = 0; step < sizeof(steps) / sizeof(steps[0]); step++) {
            gi_candidates_sort(&list, steps[step]);
            for (uint32_t i = 0; i < steps[step]; i++) {
                assert_int_equal(list.data[i].id, sorted[i]);
            }
        }
    }
    gi_candidates_finish(&list);
}

// The choice is that of the reference which the GPU's kernels are held to.
TEST(choices_are_those_of_the_gpu)
{
    struct gi_sampler_params params = plain();
    const struct gi_ref_filter filter = {.top_k = 9, .top_p = 0.95, .min_p = 0.05};
    uint32_t sorted[N], room[N];
    params.seed = UINT64_C(0x123456789ABCDEF);
    params.temperature = 0.8f;
    params.top_k = 9;
    params.top_p = 0.95f;
    params.min_p = 0.05f;
    struct gi_sampler_chain *chain = create(&params);
    for (uint32_t i = 0; i < N; i++) {
        sorted[i] = i;
    }
    gi_ref_sort_ids(logits, sorted, N, room);
    const uint32_t n = gi_ref_filter(logits, sorted, N, &filter);
    for (uint32_t position = 0; position < 3000; position++) {
        uint32_t best = 0;
        double most = -INFINITY;
        for (uint32_t i = 0; i < n; i++) {
            const double score = (double)logits[sorted[i]] / (double)0.8f +
                                 gi_philox_gumbel(params.seed, position, sorted[i]);
            best = score > most ? i : best;
            most = fmax(score, most);
        }
        assert_int_equal(apply(chain, position), sorted[best]);
    }
    gi_sampler_chain_destroy(chain);
}

TEST(philox_gives_the_known_answer)
{
    const uint32_t key[2] = {0xA4093822, 0x299F31D0};
    const uint32_t counter[4] = {0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344};
    static const uint32_t expected[4] = {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1};
    uint32_t out[4];
    gi_philox(key, counter, out);
    assert_memory_equal(out, expected, sizeof(out));
}

// Settings and logits at the ends of float leave a token.
TEST(extremes_leave_a_token)
{
    static const float values[] = {1e-38f, 1e-6f, 1.0f, 1e6f, 1e38f};
    float own[N] = {3e38f, -3e38f, 1e-45f, 0, -0.0f, 1e30f, -1e30f, 5, 5, 5, 5, 5};
    for (uint32_t i = 0; i < 5; i++) {
        for (uint32_t j = 0; j < 5; j++) {
            struct gi_sampler_params params = plain();
            params.temperature = values[i];
            params.values.dynatemp_range = j % 2 ? values[j] : 0;
            params.penalties = (struct gi_penalties){8, values[j], values[i], -values[j]};
            params.dry = (struct gi_dry){values[j], 1 + values[i], 0, 8, NULL, 0};
            params.values.top_n_sigma = values[j];
            params.values.typical_p = 0.5f;
            params.top_p = 0.5f;
            params.min_p = 1e-38f;
            params.values.mirostat = j % 3;
            params.values.mirostat_tau = values[j];
            params.values.adaptive_target = i % 2 ? 0.5f : -1.0f;
            struct gi_sampler_chain *chain = create(&params);
            for (uint32_t k = 0; k < 12; k++) {
                float copy[N];
                memcpy(copy, own, sizeof(copy));
                const uint32_t token = gi_sampler_chain_apply(chain, copy, NULL, k);
                assert_true(token < N);
                gi_sampler_chain_accept(chain, token);
                gi_sampler_chain_accept(chain, k % 2);
            }
            gi_sampler_chain_destroy(chain);
        }
    }
}

TEST(refused_memory_is_an_error)
{
    static const uint32_t breaker[] = {3};
    const struct gi_breaker breakers[] = {{breaker, 1}};
    struct gi_sampler_params params = plain();
    params.penalties = (struct gi_penalties){4, 1.2f, 0.1f, 0.3f};
    params.dry = (struct gi_dry){1, 2, 1, 8, breakers, 1};
    bool is_done = false;
    for (long n = 0; n < 20; n++) {
        struct glinfer_error err = {0};
        fail_allocations_after(n);
        struct gi_sampler_chain *made = gi_sampler_chain_create(&params, &err);
        fail_allocations_after(-1);
        assert_true(made || err.status == GLINFER_STATUS_NO_MEMORY);
        is_done = made != NULL;
        gi_sampler_chain_destroy(made);
    }
    assert_true(is_done);
}

RUN_TESTS(NULL, NULL)
