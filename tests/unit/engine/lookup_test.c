// Drafts by prompt lookup, and when they are computed.
#include "engine/session/lookup.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

//-- drafts ----------------------------------------------------------------------------------------

static void expect_draft(const uint32_t *text, uint32_t n, uint32_t n_match, const uint32_t *want,
                         uint32_t n_want)
{
    uint32_t draft[GI_MAX_DRAFT];
    assert_int_equal(gi_lookup_find(text, n, n_match, n_want, draft), n_want);
    assert_memory_equal(draft, want, n_want * sizeof(want[0]));
}

TEST(what_followed_is_the_draft)
{
    static const uint32_t text[] = {1, 2, 3, 4, 5, 9, 1, 2, 3};
    expect_draft(text, COUNT(text), 3, (const uint32_t[]){4, 5, 9, 1}, 4);
}

TEST(the_longest_match_wins_over_the_latest)
{
    static const uint32_t text[] = {7, 1, 2, 3, 50, 8, 2, 3, 60, 7, 1, 2, 3};
    expect_draft(text, COUNT(text), 1, (const uint32_t[]){50, 8}, 2);
    expect_draft(text + 1, COUNT(text) - 1, 1, (const uint32_t[]){50, 8}, 2);
}

TEST(the_latest_of_equal_matches_wins)
{
    static const uint32_t text[] = {1, 2, 30, 1, 2, 40, 5, 1, 2};
    expect_draft(text, COUNT(text), 2, (const uint32_t[]){40, 5}, 2);
}

TEST(drafts_go_on_over_the_end_of_the_text)
{
    static const uint32_t alike[] = {4, 4, 4, 4}, three[] = {1, 2, 3, 1, 2, 3, 1};
    expect_draft(alike, 4, 3, (const uint32_t[]){4, 4, 4, 4, 4}, 5);
    expect_draft(three, 7, 3, (const uint32_t[]){2, 3, 1, 2, 3, 1, 2}, 7);
}

TEST(short_matches_give_no_draft)
{
    static const uint32_t text[] = {1, 2, 3, 4, 9, 2, 3};
    uint32_t draft[4] = {0};
    assert_int_equal(gi_lookup_find(text, COUNT(text), 3, 4, draft), 0);
    assert_int_equal(gi_lookup_find(text, COUNT(text), 2, 4, draft), 4);
    assert_int_equal(gi_lookup_find(text, 1, 1, 4, draft), 0);
    assert_int_equal(gi_lookup_find(text, 0, 1, 4, draft), 0);
}

//-- a session whose times are known ---------------------------------------------------------------

// Answers with a text that is known, at times of a GPU on which a batch of n rows takes 1 + slope
// (n - 1) steps; returns the time that the answer takes, in steps.
struct simulation {
    struct gi_lookup lookup;
    struct gi_lookup_times times;
    double slope, wait; // steps that a chain which is waited for takes longer
    uint32_t chain;     // steps
    uint32_t n_drafts, n_drafted, n_right;
};

enum { STEP_NS = 1000000, LONGEST = 6000 };

static double run_draft(struct simulation *s, const uint32_t *text, uint32_t *at, uint32_t n_draft)
{
    uint32_t n_right = 0;
    while (n_right < n_draft && s->lookup.draft[n_right] == text[*at + n_right]) {
        n_right++;
    }
    const double steps = 1 + s->slope * n_draft + s->wait;
    gi_lookup_learn_draft(&s->lookup, n_draft, n_right, (uint64_t)(steps * STEP_NS));
    *at += n_right + 1;
    s->n_drafts++;
    s->n_drafted += n_draft;
    s->n_right += n_right;
    return steps;
}

static double answer(struct simulation *s, const uint32_t *text, uint32_t begin, uint32_t end)
{
    double steps = 0;
    for (uint32_t at = begin; at < end;) {
        const bool is_on = s->lookup.is_on;
        const uint32_t most = end - at - 1;
        const uint32_t n_draft =
            gi_lookup_wants(&s->lookup) ? gi_lookup_choose(&s->lookup, text, at, most) : 0;
        if (n_draft > 0) {
            steps += run_draft(s, text, &at, n_draft);
            continue;
        }
        const bool is_alone = is_on && s->lookup.is_on;
        uint32_t n = is_alone ? s->lookup.n_match : s->chain;
        n = n < end - at ? n : end - at;
        const double own = n + (is_alone ? s->wait : 0);
        at += n;
        gi_lookup_learn_steps(&s->lookup, n, is_alone, (uint64_t)(own * STEP_NS));
        gi_lookup_note(&s->lookup, text, at, n);
        steps += own;
    }
    return steps;
}

static void begin(struct simulation *s, double slope)
{
    *s = (struct simulation){.slope = slope, .wait = 0.3, .chain = 8};
    gi_lookup_init(&s->lookup, &s->times, 0, 7, false);
}

// A text of n tokens, of which the second half repeats the first with a change every `change`
// tokens; 0: none.
static uint32_t *make_text(uint32_t n, uint32_t change)
{
    uint32_t *text = malloc(n * sizeof(*text));
    assert_non_null(text);
    srand(5);
    for (uint32_t i = 0; i < n; i++) {
        text[i] = (uint32_t)rand() % 40000;
        if (i >= n / 2 && (change == 0 || i % change != 0)) {
            text[i] = text[i - n / 2];
        }
    }
    return text;
}

TEST(copies_are_computed_by_drafts)
{
    enum { N = 800 };
    uint32_t *text = make_text(N, 0);
    struct simulation s;
    begin(&s, 0.1);
    const double steps = answer(&s, text, N / 2, N);
    assert_true(steps < N / 2 / 3.0);
    assert_true(s.n_right > N / 2 * 3 / 4);
    free(text);
}

TEST(drafts_pay_where_batches_are_cheap)
{
    enum { N = 2000 };
    uint32_t *text = make_text(N, 11);
    struct simulation cheap, dear;
    begin(&cheap, 0.02);
    begin(&dear, 0.3);
    assert_true(answer(&cheap, text, N / 2, N) < N / 2 / 1.8);
    assert_true(answer(&dear, text, N / 2, N) < N / 2 * 1.03);
    assert_true(cheap.n_drafted > 3 * cheap.n_drafts);
    free(text);
}

// For any repeated text and any speed of batches.
TEST(no_text_is_slower_by_three_percent)
{
    static const double slopes[] = {0, 0.05, 0.2, 0.5, 1, 3};
    static const uint32_t changes[] = {0, 2, 3, 4, 5, 6, 7, 9, 13, 30};
    for (uint32_t c = 0; c < COUNT(changes); c++) {
        uint32_t *text = make_text(LONGEST, changes[c]);
        for (uint32_t i = 0; i < COUNT(slopes); i++) {
            struct simulation s;
            begin(&s, slopes[i]);
            const double steps = answer(&s, text, LONGEST / 2, LONGEST);
            if (!(steps < LONGEST / 2 * 1.03)) {
                fail_msg("a change each %u, %g a row: %g steps for %u tokens, %u drafts",
                         changes[c], slopes[i], steps, LONGEST / 2, s.n_drafts);
            }
        }
        free(text);
    }
}

TEST(drafts_end_where_copies_end)
{
    enum { N = 800, REST = 1600 };
    uint32_t *text = make_text(N + REST, 0), *own = make_text(N, 0);
    struct simulation s;
    memcpy(text, own, N * sizeof(*own));
    for (uint32_t i = N; i < N + REST; i++) {
        text[i] = 50000 + i;
    }
    begin(&s, 0.1);
    answer(&s, text, N / 2, N);
    const uint32_t n_before = s.n_drafts;
    const double steps = answer(&s, text, N, N + REST);
    assert_true(s.n_drafts <= n_before + 4);
    assert_false(s.lookup.is_on);
    assert_true(steps < REST * 1.01);
    free(text);
    free(own);
}

TEST(asked_for_drafts_are_always_computed)
{
    static const uint32_t text[] = {1, 2, 3, 4, 1, 2, 3};
    struct gi_lookup_times times = {.step_ns = 10, .rows_ns = {[4] = 1000}};
    struct gi_lookup lookup;
    gi_lookup_init(&lookup, &times, 2, 3, false);
    assert_int_equal(gi_lookup_choose(&lookup, text, 7, 15), 0);
    gi_lookup_init(&lookup, &times, 2, 3, true);
    assert_int_equal(gi_lookup_choose(&lookup, text, 7, 15), 3);
    assert_int_equal(gi_lookup_choose(&lookup, text, 7, 2), 2);
    assert_int_equal(gi_lookup_choose(&lookup, text, 7, 0), 0);
}

TEST(without_times_nothing_is_drafted)
{
    static const uint32_t text[] = {1, 2, 3, 4, 1, 2, 3};
    struct gi_lookup_times times = {0};
    struct gi_lookup lookup;
    gi_lookup_init(&lookup, &times, 2, 3, false);
    gi_lookup_note(&lookup, text, 7, 2);
    assert_false(gi_lookup_wants(&lookup));
    assert_int_equal(gi_lookup_choose(&lookup, text, 7, 15), 0);
}

RUN_TESTS(NULL, NULL)
