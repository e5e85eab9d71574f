// Tests the decisions about persistent programs.
#include "persistent/persistent_policy.h"
#include "tests/unit/cmocka_test.h"

static const struct gi_persistent_policy policy = {.max_step_ns = 5000000};

static bool has_large(uint64_t layer_bytes, uint32_t n_groups)
{
    const struct gi_persistent_policy own = {.params.n_groups = n_groups, .large_from = 256u << 10};
    return gi_persistent_has_large_groups(&own, layer_bytes);
}

TEST(slow_steps_are_not_worth_compiling)
{
    assert_true(gi_persistent_is_worthwhile(&policy, 1));
    assert_true(gi_persistent_is_worthwhile(&policy, 5000000));
    assert_false(gi_persistent_is_worthwhile(&policy, 5000001));
    assert_false(gi_persistent_is_worthwhile(&policy, 0)); // not known
}

// Bytes of Q4_0 weights by their layers, read by a group on each multiprocessor of an H200.
TEST(large_groups_read_large_layers)
{
    assert_false(has_large(UINT64_C(91000000) / 30, 132));   // SmolLM2-135M
    assert_false(has_large(UINT64_C(416000000) / 28, 132));  // Qwen3-0.6B
    assert_true(has_large(UINT64_C(829000000) / 16, 132));   // Llama-3.2-1B
    assert_true(has_large(UINT64_C(5046000000) / 32, 132));  // Llama-3.1-8B
    assert_true(has_large(UINT64_C(42000000000) / 80, 132)); // of 70B
    assert_true(has_large(256u << 10, 1));
    assert_false(has_large((256u << 10) - 1, 1));
}

// Shared memory of a name is that of the largest stage which uses it; names add up.
TEST(large_heads_leave_sampling_no_room)
{
    const struct gi_limits limits = {.max_shared_size = 48u << 10};
    assert_true(gi_persistent_has_room_to_sample(&limits, 64));
    assert_true(gi_persistent_has_room_to_sample(&limits, 128));
    assert_false(gi_persistent_has_room_to_sample(&limits, 256)); // Gemma
    assert_false(gi_persistent_has_room_to_sample(&limits, 96));  // Phi-3, by attention.comp
}

RUN_TESTS(NULL, NULL)
