// Times of joint steps.
#include "engine/session/joint_times.h"
#include "tests/unit/cmocka_test.h"

enum { SEVERAL, LONE };

static const struct gi_polls unseen;

// Learns a time of a chain of ten steps that ends when it is looked at.
static void learn_seen(struct gi_joint_times *times, bool is_lone, uint64_t begin_ns, uint64_t ns)
{
    const struct gi_polls polls = {.busy_ns = begin_ns + ns - 1};
    gi_joint_times_learn(times, &polls, is_lone, begin_ns, begin_ns + ns, 10);
}

TEST(sets_of_one_slot_are_lone)
{
    assert_true(gi_joint_is_lone(4));
    assert_false(gi_joint_is_lone(5));
}

// A chain of several rows that completes after the start of a single one counts for its own rows.
TEST(chains_are_learnt_by_their_rows)
{
    struct gi_joint_times times = {0};
    learn_seen(&times, false, 0, 1000);
    assert_int_equal(times.step_ns[SEVERAL], 100);
    assert_int_equal(times.step_ns[LONE], 0);
    learn_seen(&times, true, 900, 300); // begins where the one before it ended
    assert_int_equal(times.step_ns[LONE], 20);
    assert_int_equal(times.step_ns[SEVERAL], 100);
}

TEST(a_time_whose_end_was_not_seen_counts_if_it_is_less)
{
    struct gi_joint_times times = {.step_ns = {100, 0}, .shared_ns = 1};
    gi_joint_times_learn(&times, &unseen, false, 0, 2000, 10);
    assert_int_equal(times.step_ns[SEVERAL], 100);
    gi_joint_times_learn(&times, &unseen, false, 2000, 2500, 10);
    assert_int_equal(times.step_ns[SEVERAL], 50);
}

// If the end of the chain before it was not seen, a chain may have waited for it.
TEST(a_time_whose_begin_was_not_seen_counts_if_it_is_less)
{
    struct gi_joint_times times = {.step_ns = {100, 0}, .shared_ns = 1, .last_ns = 1500};
    learn_seen(&times, false, 0, 3000);
    assert_int_equal(times.step_ns[SEVERAL], 100);
    learn_seen(&times, false, 1500, 2000); // begins where one ended whose end was seen
    assert_int_equal(times.step_ns[SEVERAL], 50);
    learn_seen(&times, false, 9000, 1500); // waits for none
    assert_int_equal(times.step_ns[SEVERAL], 150);
}

// A chain that was submitted while another ran seems to take the time of both. If it had ended when
// the host was to look, the known time is too long.
TEST(a_time_that_is_too_long_shrinks)
{
    struct gi_joint_times times = {.step_ns = {100, 0}, .shared_ns = 1};
    const struct gi_polls early = {.busy_ns = 1000, .early_ns = 2000}, after = {.busy_ns = 1000};
    gi_joint_times_learn(&times, &early, false, 0, 2000, 10);
    assert_int_equal(times.step_ns[SEVERAL], 75);
    gi_joint_times_learn(&times, &early, false, 0, 5000000, 10); // the host had other things to do
    gi_joint_times_learn(&times, &after, false, 0, 9000, 10);    // it was past its expected end
    assert_int_equal(times.step_ns[SEVERAL], 75);
}

// A first chain on a GPU whose clocks are low keeps answers from joint steps for a short time only.
TEST(a_time_with_several_rows_is_measured_again)
{
    const uint64_t second = 1000000000;
    struct gi_joint_times times = {0};
    learn_seen(&times, false, second, 1000);
    assert_int_equal(gi_joint_times_shared(&times, second + second / 4), 100);
    assert_int_equal(gi_joint_times_shared(&times, 2 * second), 0);
    learn_seen(&times, true, 9 * second, 500);
    assert_int_equal(gi_joint_times_shared(&times, 10 * second), 0);
    learn_seen(&times, false, 10 * second, 500);
    assert_int_equal(gi_joint_times_shared(&times, 10 * second + second / 4), 50);
}

// Chains that are seen to end late may have taken less: the least of four decides, of each time
// anew.
TEST(times_whose_ends_were_not_seen_decide_together)
{
    const uint64_t second = 1000000000;
    struct gi_joint_times times = {0};
    for (uint64_t period = 1; period < 20; period += 9) {
        const uint64_t begin = period * second;
        for (uint64_t i = 0; i < 4; i++) {
            assert_int_equal(gi_joint_times_shared(&times, begin), 0);
            gi_joint_times_learn(&times, &unseen, false, begin, begin + 1000 * (period + 5 - i),
                                 10);
        }
        assert_int_equal(times.step_ns[SEVERAL], 100 * (period + 2));
        assert_int_equal(gi_joint_times_shared(&times, begin + second / 4), 100 * (period + 2));
    }
}

RUN_TESTS(NULL, NULL)
