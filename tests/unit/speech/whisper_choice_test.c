// Tests the choice of tokens under a mask.
#include "speech/window/whisper_choice.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>

static struct gi_whisper_ids ids;
static float logits[51864];
static uint32_t suppressed[51864 / 32 + 1];

static int prepare(void **state)
{
    (void)state;
    return gi_whisper_ids_init(&ids, 51864) ? 0 : 1;
}

static void clear(void)
{
    for (uint32_t i = 0; i < ids.n_vocab; i++) {
        logits[i] = -INFINITY;
    }
    memset(suppressed, 0, sizeof(suppressed));
}

static const struct gi_whisper_mask *all(void)
{
    static struct gi_whisper_mask mask;
    mask = (struct gi_whisper_mask){true, true, true, ids.time, ids.n_vocab};
    return &mask;
}

static struct gi_whisper_choice plain(void)
{
    return (struct gi_whisper_choice){.ids = &ids, .suppressed = suppressed, .blank = 220};
}

static uint32_t choose(const struct gi_whisper_mask *mask)
{
    const struct gi_whisper_choice choice = plain();
    struct gi_whisper_token token = {.id = UINT32_MAX};
    gi_whisper_choose(&choice, mask, logits, &token, 1);
    return token.id;
}

TEST(masked_tokens_are_not_chosen)
{
    clear();
    logits[5] = 1;
    logits[220] = 2;
    logits[ids.end] = 3;
    logits[ids.no_speech] = 9; // special tokens never follow
    struct gi_whisper_mask mask = *all();
    assert_int_equal(choose(&mask), ids.end);
    mask.has_end = false;
    assert_int_equal(choose(&mask), 220);
    mask.has_blank = false;
    assert_int_equal(choose(&mask), 5);
    suppressed[0] = 1u << 5;
    assert_int_equal(choose(&mask), UINT32_MAX);
    mask.has_text = false;
    mask.has_end = true;
    assert_int_equal(choose(&mask), ids.end);
}

TEST(timestamps_together_outweigh_text)
{
    clear();
    logits[5] = 1;
    logits[ids.time + 3] = 0;
    assert_int_equal(choose(all()), 5);
    logits[ids.time + 4] = 0.5F;
    assert_int_equal(choose(all()), 5); // log(1 + exp(0.5)) is 0.97
    logits[6] = 0.99F;                  // the most likely text counts, not all text
    logits[ids.time + 5] = -2;
    assert_int_equal(choose(all()), ids.time + 4);
    struct gi_whisper_mask mask = *all();
    mask.time_begin = ids.time + 5;
    assert_int_equal(choose(&mask), 5);
}

TEST(log_probabilities_are_under_the_mask)
{
    clear();
    logits[5] = 3;
    logits[6] = 2;
    logits[7] = 1;
    logits[ids.start] = 10;
    logits[ids.time + 9] = -4;
    const struct gi_whisper_choice choice = plain();
    struct gi_whisper_token tokens[5];
    assert_int_equal(gi_whisper_choose(&choice, all(), logits, tokens, 5), 4);
    const double sum = exp(3) + exp(2) + exp(1) + exp(-4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tokens[i].id, 5 + i);
        assert_int_equal(tokens[i].time, ids.time + 9);
        assert_float_equal(tokens[i].logprob, (float)(3 - i - log(sum)), 1e-5);
    }
    assert_int_equal(gi_whisper_choose(&choice, all(), logits, tokens, 2), 2);
    assert_int_equal(tokens[1].id, 6);
}

TEST(random_tokens_have_their_probabilities)
{
    enum { N = 2000 };
    clear();
    logits[5] = 1;
    logits[6] = 0;
    struct gi_whisper_choice choice = plain();
    struct gi_whisper_token token;
    uint32_t n_five = 0;
    choice.temperature = 0.5F;
    for (int i = 0; i < N; i++) {
        choice.uniform = (i + 0.5) / N;
        assert_int_equal(gi_whisper_choose(&choice, all(), logits, &token, 1), 1);
        n_five += token.id == 5;
    }
    assert_float_equal((float)n_five / N, 0.8808F, 2e-3);
    assert_float_equal(token.logprob, -1.313262F, 1e-5); // without the temperature
    assert_int_equal(token.id, 6);
}

TEST(logits_that_are_not_numbers_are_never_chosen)
{
    clear();
    assert_int_equal(choose(all()), UINT32_MAX);
    for (uint32_t i = 0; i < ids.n_vocab; i++) {
        logits[i] = NAN;
    }
    assert_int_equal(choose(all()), UINT32_MAX);
    logits[7] = -100;
    assert_int_equal(choose(all()), 7);
    logits[8] = INFINITY; // is a fault, but not a crash
    choose(all());
    assert_int_equal(gi_whisper_most_likely(logits, 0, 10), 8);
    logits[8] = NAN;
    assert_int_equal(gi_whisper_most_likely(logits, 0, 10), 7);
    assert_float_equal(gi_whisper_probability(logits, 0, 10, 7), 1, 0);
}

RUN_TESTS(prepare, NULL)
