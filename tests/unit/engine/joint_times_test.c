// Times of joint steps.
#include "engine/session/joint_times.h"
#include "tests/unit/cmocka_test.h"

enum { SEVERAL, LONE };
enum { ONE = 2, PAIR = 5 }; // sets of slots
enum { UNIT_NS = 10000, SECOND = 100000 };

// The times of joint steps on a GPU whose last end is known.
struct clock {
    struct gi_joint_times times;
    struct gi_last_end last;
};

// Learns the time of a chain of ten steps of a set of slots. Times are in units of 10 us.
static void learn(struct clock *clock, const struct gi_polls *polls, uint32_t set, uint64_t begin,
                  uint64_t end)
{
    const struct gi_polls own = {polls->busy_ns * UNIT_NS, polls->early_ns * UNIT_NS, true};
    struct gi_last_end last = {clock->last.number, clock->last.busy_ns * UNIT_NS,
                               clock->last.ns * UNIT_NS};
    struct gi_landing landing = {
        .joint = {.live = set},
        .n_steps = 10,
        .time = gi_polls_measure(&own, &last, last.number + 1, begin * UNIT_NS, end * UNIT_NS)};
    gi_joint_times_learn(&clock->times, &landing);
    clock->last = (struct gi_last_end){last.number, last.busy_ns / UNIT_NS, last.ns / UNIT_NS};
}

// Learns the time of a chain that ends when the host looks at it.
static void learn_seen(struct clock *clock, uint32_t set, uint64_t begin, uint64_t time)
{
    const struct gi_polls polls = {.busy_ns = begin + time - 1};
    learn(clock, &polls, set, begin, begin + time);
}

static void learn_unseen(struct clock *clock, uint64_t begin, uint64_t end)
{
    const struct gi_polls polls = {0};
    learn(clock, &polls, PAIR, begin, end);
}

static void expect(const struct clock *clock, int rows, uint64_t time)
{
    assert_int_equal(clock->times.step_ns[rows], time * UNIT_NS);
}

// Expects the time of a step with several rows that is fit to decide; 0: no time is.
static void expect_shared(const struct clock *clock, uint64_t now, uint64_t time)
{
    assert_int_equal(gi_joint_times_shared(&clock->times, now * UNIT_NS), time * UNIT_NS);
}

TEST(sets_of_one_slot_are_lone)
{
    assert_true(gi_joint_is_lone(4));
    assert_false(gi_joint_is_lone(5));
}

// A chain of several rows that completes after the start of a single one counts for its own rows.
TEST(chains_are_learnt_by_their_rows)
{
    struct clock clock = {0};
    learn_seen(&clock, PAIR, 0, 1000);
    expect(&clock, SEVERAL, 100);
    expect(&clock, LONE, 0);
    learn_seen(&clock, ONE, 900, 300); // begins where the one before it ended
    expect(&clock, LONE, 20);
    expect(&clock, SEVERAL, 100);
}

TEST(a_time_whose_end_was_not_seen_counts_if_it_is_less)
{
    struct clock clock = {.times = {.step_ns = {100 * UNIT_NS, 0}, .shared_ns = 1}};
    learn_unseen(&clock, 0, 2000);
    expect(&clock, SEVERAL, 100);
    learn_unseen(&clock, 2000, 2500);
    expect(&clock, SEVERAL, 50);
}

// If the end of the chain before it was not seen, a chain may have waited for it.
TEST(a_time_whose_begin_was_not_seen_counts_if_it_is_less)
{
    struct clock clock = {.times = {.step_ns = {100 * UNIT_NS, 0}, .shared_ns = 1},
                          .last = {1, 0, 1500}};
    learn_seen(&clock, PAIR, 0, 3000);
    expect(&clock, SEVERAL, 100);
    learn_seen(&clock, PAIR, 1500, 2000); // begins where one ended whose end was seen
    expect(&clock, SEVERAL, 50);
    learn_seen(&clock, PAIR, 9000, 1500); // waits for none
    expect(&clock, SEVERAL, 150);
}

// Chains of two answers in turn: each begins where that of the other one ended.
TEST(a_chain_does_not_count_that_of_another_answer)
{
    struct gi_last_end last = {0};
    for (uint64_t i = 1; i < 5; i++) {
        const struct gi_polls polls = {.busy_ns = 1000 * i - 1};
        const uint64_t begin = i < 3 ? 0 : 1000 * (i - 2); // two are in flight
        const struct gi_chain_time time = gi_polls_measure(&polls, &last, i, begin, 1000 * i);
        assert_int_equal(time.ns, 1000);
        assert_true(time.is_exact);
    }
}

// The host looks at two chains when both have ended: the second may have begun when the first was
// last seen to run.
TEST(a_short_chain_after_a_long_one_has_a_bound)
{
    struct gi_last_end last = {0};
    const struct gi_polls polls = {.busy_ns = 39000}, unseen = {0};
    assert_true(gi_polls_measure(&polls, &last, 1, 0, 48000).is_exact);
    const struct gi_chain_time time = gi_polls_measure(&unseen, &last, 2, 100, 48020);
    assert_int_equal(time.ns, 48020 - 39000);
    assert_false(time.is_exact);
}

// A chain that is taken before one that was submitted before it counts that one's time.
TEST(chains_that_are_taken_out_of_order_have_bounds)
{
    struct gi_last_end last = {0};
    const struct gi_polls second = {.busy_ns = 8000}, first = {.busy_ns = 100};
    struct gi_chain_time time = gi_polls_measure(&second, &last, 2, 50, 8050);
    assert_int_equal(time.ns, 8000);
    assert_false(time.is_exact);
    time = gi_polls_measure(&first, &last, 1, 0, 8060);
    assert_int_equal(time.ns, 8060);
    assert_false(time.is_exact);
    assert_int_equal(last.number, 2);
    assert_int_equal(last.ns, 8050);
}

// A chain that was submitted while another ran seems to take the time of both. If it had ended when
// the host was to look, the known time is too long.
TEST(a_time_that_is_too_long_shrinks)
{
    struct clock clock = {.times = {.step_ns = {100 * UNIT_NS, 0}, .shared_ns = 1}};
    const struct gi_polls early = {.busy_ns = 1000, .early_ns = 2000}, after = {.busy_ns = 1000};
    learn(&clock, &early, PAIR, 0, 2000);
    expect(&clock, SEVERAL, 75);
    learn(&clock, &early, PAIR, 0, 5000); // the host had other things to do
    learn(&clock, &after, PAIR, 0, 9000); // it was past its expected end
    expect(&clock, SEVERAL, 75);
}

// A short chain costs more a step, since it has a begin and an end, which counts where answers
// choose.
TEST(a_short_time_counts_if_it_is_less)
{
    struct clock clock = {0};
    learn_seen(&clock, PAIR, 0, 1000);
    learn_seen(&clock, PAIR, 1000, 200);
    expect(&clock, SEVERAL, 20);
    learn_seen(&clock, PAIR, 1200, 240);
    expect(&clock, SEVERAL, 20);
    learn_seen(&clock, PAIR, 1440, 250);
    expect(&clock, SEVERAL, 25);
    learn_seen(&clock, ONE, 2000, 100);
    learn_seen(&clock, ONE, 2100, 200);
    expect(&clock, LONE, 20);
}

// A first chain on a GPU whose clocks are low keeps answers from joint steps for a short time only.
TEST(a_time_with_several_rows_is_measured_again)
{
    struct clock clock = {0};
    learn_seen(&clock, PAIR, SECOND, 1000);
    expect_shared(&clock, SECOND + SECOND / 4, 100);
    expect_shared(&clock, 2 * SECOND, 0);
    learn_seen(&clock, ONE, 9 * SECOND, 500);
    expect_shared(&clock, 10 * SECOND, 0);
    learn_seen(&clock, PAIR, 10 * SECOND, 500);
    expect_shared(&clock, 10 * SECOND + SECOND / 4, 50);
}

// Chains that are seen to end late may have taken less: the least of four decides, of each time
// anew.
TEST(times_whose_ends_were_not_seen_decide_together)
{
    struct clock clock = {0};
    for (uint64_t period = 1; period < 20; period += 9) {
        const uint64_t begin = period * SECOND;
        for (uint64_t i = 0; i < 4; i++) {
            expect_shared(&clock, begin, 0);
            learn_unseen(&clock, begin, begin + 1000 * (period + 5 - i));
        }
        expect(&clock, SEVERAL, 100 * (period + 2));
        expect_shared(&clock, begin + SECOND / 4, 100 * (period + 2));
    }
}

RUN_TESTS(NULL, NULL)
