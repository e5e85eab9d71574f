// Times of joint steps.
#include "engine/answer/joint_run.h"
#include "tests/unit/cmocka_test.h"

enum { SEVERAL, LONE };

TEST(sets_of_one_slot_are_lone)
{
    assert_true(gi_joint_is_lone(4));
    assert_false(gi_joint_is_lone(5));
}

// A chain of several rows that completes after the start of a single one counts for its own rows.
TEST(chains_are_learnt_by_their_rows)
{
    struct gi_joint_times times = {.polled_ns = 990};
    gi_joint_times_learn(&times, false, 0, 1000, 10);
    assert_int_equal(times.step_ns[SEVERAL], 100);
    assert_int_equal(times.step_ns[LONE], 0);
    times.polled_ns = 1190;
    gi_joint_times_learn(&times, true, 900, 1200, 10); // begins where the one before it ended
    assert_int_equal(times.step_ns[LONE], 20);
    assert_int_equal(times.step_ns[SEVERAL], 100);
}

TEST(a_time_whose_end_was_not_seen_counts_if_it_is_less)
{
    struct gi_joint_times times = {.step_ns = {100, 0}, .polled_ns = 0};
    gi_joint_times_learn(&times, false, 0, 2000, 10);
    assert_int_equal(times.step_ns[SEVERAL], 100);
    gi_joint_times_learn(&times, false, 2000, 2500, 10);
    assert_int_equal(times.step_ns[SEVERAL], 50);
}

// A first chain on a GPU whose clocks are low keeps answers from joint steps for some seconds only.
TEST(a_time_with_several_rows_is_measured_again)
{
    const uint64_t second = 1000000000;
    struct gi_joint_times times = {0};
    gi_joint_times_learn(&times, false, second, second + 1000, 10);
    assert_int_equal(gi_joint_times_shared(&times, 2 * second), 100);
    gi_joint_times_learn(&times, true, 9 * second, 9 * second + 500, 10);
    assert_int_equal(gi_joint_times_shared(&times, 10 * second), 0);
    gi_joint_times_learn(&times, false, 10 * second, 10 * second + 500, 10);
    assert_int_equal(gi_joint_times_shared(&times, 11 * second), 50);
}

RUN_TESTS(NULL, NULL)
