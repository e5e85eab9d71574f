// Drafts by prompt lookup: answers with them are those without, token for token, however they end,
// whoever goes on, and whatever a draft had wrong. Runs on a tiny model, whose answers begin to
// repeat themselves; exits 77 without a device.
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ANSWER = 48, N_LONG = 60, N_CTX = 160 };

//-- helpers ---------------------------------------------------------------------------------------

// Fills a prompt that says the same again and again, with a change here and there.
static void make_prompt(int32_t ids[N_LONG], int period)
{
    for (int i = 0; i < N_LONG; i++) {
        ids[i] = 40 + i % period * 7 + (i % 17 == 16);
    }
}

static void add_drafts(struct glinfer_generate_params *params, uint32_t most, uint32_t match)
{
    params->lookup = most;
    params->lookup_match = match;
    params->lookup_always = true;
}

// Answers anew with and without drafts and compares; returns the stats of the answer with them.
static struct glinfer_stats compare(struct glinfer_session *session,
                                    struct glinfer_generate_params params, uint32_t most,
                                    uint32_t match)
{
    struct answer plain = {0}, drafted = {0};
    params.token_user = &plain;
    glinfer_session_reset(session);
    const struct glinfer_stats before = must_generate(session, &params);
    params.token_user = &drafted;
    add_drafts(&params, most, match);
    glinfer_session_reset(session);
    const struct glinfer_stats after = must_generate(session, &params);
    assert_same(&plain, &drafted);
    assert_int_equal(before.stop, after.stop);
    assert_int_equal(before.predicted_n, after.predicted_n);
    assert_int_equal(before.n_past, after.n_past);
    assert_int_equal(before.draft_n, 0);
    assert_true(after.draft_n_accepted <= after.draft_n);
    return after;
}

//-- tokens ----------------------------------------------------------------------------------------

TEST(greedy_answers_are_the_same)
{
    static const uint32_t mosts[] = {1, 3, 15};
    struct glinfer_session *session = open_session(*state, 0, N_CTX, 64);
    uint32_t n_drafted = 0, n_right = 0;
    for (int period = 3; period <= 11; period += 4) {
        int32_t ids[N_LONG];
        make_prompt(ids, period);
        for (size_t i = 0; i < sizeof(mosts) / sizeof(mosts[0]); i++) {
            const struct glinfer_stats stats =
                compare(session, ask(ids, N_LONG, N_ANSWER, NULL), mosts[i], 1 + (uint32_t)i);
            n_drafted += stats.draft_n;
            n_right += stats.draft_n_accepted;
        }
    }
    compare(session, ask(prompt, N_PROMPT, N_ANSWER, NULL), 15, 1);
    glinfer_session_destroy(&session);
    assert_true(n_right > 0 && n_right < n_drafted);
}

// With the seed's own numbers for each place, which is the rule of acceptance that leaves the
// distribution as it is.
TEST(sampled_answers_are_the_same)
{
    static const struct {
        float temperature, top_p;
        uint32_t top_k, n_probs;
    } ends[] = {
        {0.7F, 1, 40, 0},
        {1.0F, 0.9F, 0, 0},
        {0.5F, 1, 20, 3},
    };
    struct glinfer_session *session = open_session(*state, 0, N_CTX, 64);
    int32_t ids[N_LONG];
    uint32_t n_drafted = 0, n_right = 0;
    make_prompt(ids, 5);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct glinfer_generate_params params = ask(ids, N_LONG, N_ANSWER, NULL);
            params.temperature = ends[i].temperature;
            params.top_p = ends[i].top_p;
            params.top_k = ends[i].top_k;
            params.n_probs = ends[i].n_probs;
            params.seed = seed;
            const struct glinfer_stats stats = compare(session, params, 15, 1);
            n_drafted += stats.draft_n;
            n_right += stats.draft_n_accepted;
        }
    }
    glinfer_session_destroy(&session);
    assert_true(n_right > 0 && n_right < n_drafted);
}

//-- ends ------------------------------------------------------------------------------------------

TEST(answers_end_where_they_do_without)
{
    SESSION *session = open_session(*state, 0, N_CTX, 64);
    int32_t ids[N_LONG];
    make_prompt(ids, 3);
    for (int32_t n = 0; n < 12; n++) {
        compare(session, ask(ids, N_LONG, n, NULL), 15, 1);
    }
    struct answer whole = {0};
    struct glinfer_generate_params params = ask(ids, N_LONG, N_ANSWER, &whole);
    glinfer_session_reset(session);
    must_generate(session, &params);
    assert_true(whole.text_size > 30);
    for (size_t at = 5; at < 30; at += 4) { // a word within a draft
        char word[4] = {whole.text[at], whole.text[at + 1], whole.text[at + 2], 0};
        const char *const stop[] = {word};
        params.stop = stop;
        params.n_stop = 1;
        compare(session, params, 15, 1);
    }
}

TEST(a_full_context_ends_or_shifts_alike)
{
    SESSION *session = open_session(*state, 0, N_LONG + 20, 64);
    int32_t ids[N_LONG];
    make_prompt(ids, 3);
    struct glinfer_generate_params params = ask(ids, N_LONG, -1, NULL);
    assert_int_equal(compare(session, params, 15, 1).stop, GLINFER_STOP_CONTEXT);
    params.n_predict = 70;
    params.context_full = GLINFER_CONTEXT_FULL_SHIFT;
    params.n_keep = 8;
    assert_int_equal(compare(session, params, 15, 1).stop, GLINFER_STOP_LIMIT);
}

// Says more and compares what both sessions answer.
static void go_on_alike(struct glinfer_session *a, struct glinfer_session *b)
{
    static const int32_t words[] = {32, 97, 110, 100, 32};
    struct answer first = {0}, second = {0};
    struct glinfer_generate_params params = ask(words, 5, 20, &first);
    must_generate(a, &params);
    params.token_user = &second;
    must_generate(b, &params);
    assert_same(&first, &second);
}

TEST(what_was_wrong_leaves_nothing_behind)
{
    SESSION *a = open_session(*state, 0, N_CTX, 64);
    SESSION *b = open_session(*state, 0, N_CTX, 64);
    int32_t ids[N_LONG];
    make_prompt(ids, 5);
    for (int stop_after = 1; stop_after <= 9; stop_after += 2) { // a callback that has enough
        struct answer plain = {.stop_after = stop_after}, drafted = {.stop_after = stop_after};
        struct glinfer_generate_params params = ask(ids, N_LONG, N_ANSWER, &plain);
        glinfer_session_reset(a);
        must_generate(a, &params);
        params.token_user = &drafted;
        add_drafts(&params, 15, 1);
        glinfer_session_reset(b);
        must_generate(b, &params);
        assert_same(&plain, &drafted);
        go_on_alike(a, b);
    }
}

TEST(a_cancelled_answer_goes_on)
{
    SESSION *session = open_session(*state, 0, N_CTX, 64);
    int32_t ids[N_LONG];
    make_prompt(ids, 3);
    struct answer whole = {0}, broken = {.cancel = session};
    struct glinfer_generate_params params = ask(ids, N_LONG, N_ANSWER, &whole);
    must_generate(session, &params);
    glinfer_session_reset(session);
    params.token_user = &broken;
    add_drafts(&params, 15, 1);
    must_fail(glinfer_generate(session, &params, NULL, &err), CANCELLED, "");
    broken.cancel = NULL;
    params.resume = true;
    must_generate(session, &params);
    assert_same(&whole, &broken);
}

//-- beside the rest -------------------------------------------------------------------------------

TEST(steps_on_a_budget_draft_too)
{
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 0, N_CTX, 64);
    int32_t ids[N_LONG];
    make_prompt(ids, 3);
    for (uint32_t budget_us = 0; budget_us <= 4000; budget_us += 2000) {
        struct answer plain = {0}, stepped = {0};
        struct glinfer_generate_params params = ask(ids, N_LONG, N_ANSWER, &plain);
        struct glinfer_event event = {.struct_size = sizeof(event)};
        glinfer_session_reset(session);
        must_generate(session, &params);
        params.token_user = &stepped;
        add_drafts(&params, 15, 1);
        glinfer_session_reset(session);
        must_do(glinfer_begin(session, &params, &err));
        do {
            must_do(glinfer_step(f->device, budget_us, &event, &err));
        } while (event.kind != GLINFER_EVENT_END);
        assert_true(event.stats->draft_n > 0);
        assert_same(&plain, &stepped);
    }
}

TEST(saved_sessions_go_on_alike)
{
    SESSION *a = open_session(*state, 0, N_CTX, 64);
    SESSION *b = open_session(*state, 0, N_CTX, 64);
    int32_t ids[N_LONG];
    size_t size;
    struct answer answer = {0};
    make_prompt(ids, 3);
    struct glinfer_generate_params params = ask(ids, N_LONG, 30, &answer);
    add_drafts(&params, 15, 1);
    assert_true(must_generate(a, &params).draft_n > 0);
    must_do(glinfer_session_save_memory(a, NULL, 0, &size, &err));
    void *data = malloc(size);
    assert_non_null(data);
    must_do(glinfer_session_save_memory(a, data, size, &size, &err));
    must_do(glinfer_session_load_memory(b, data, size, &err));
    free(data);
    go_on_alike(a, b);
}

TEST(samplers_that_change_logits_do_without)
{
    SESSION *session = open_session(*state, 0, N_CTX, 64);
    struct glinfer_samplers samplers;
    int32_t ids[N_LONG];
    make_prompt(ids, 3);
    struct glinfer_generate_params params = ask(ids, N_LONG, 12, NULL);
    glinfer_samplers_init(&samplers);
    params.samplers = &samplers;
    assert_true(compare(session, params, 15, 1).draft_n > 0);
    samplers.repeat_penalty = 1.3F;
    assert_int_equal(compare(session, params, 15, 1).draft_n, 0);
    samplers.dry_multiplier = 1;
    assert_int_equal(compare(session, params, 15, 1).draft_n, 0);
}

// The tokens do not depend on times; without `lookup_always` times decide whether drafts are used.
TEST(times_decide_alike)
{
    SESSION *session = open_session(*state, 0, N_CTX, 64);
    int32_t ids[N_LONG];
    make_prompt(ids, 3);
    struct answer plain = {0}, timed = {0};
    struct glinfer_generate_params params = ask(ids, N_LONG, N_ANSWER, &plain);
    must_generate(session, &params);
    params.token_user = &timed;
    params.lookup = 15;
    glinfer_session_reset(session);
    must_generate(session, &params);
    assert_same(&plain, &timed);
}

TEST(small_batches_do_without)
{
    SESSION *session = open_session(*state, 0, N_CTX, 1);
    int32_t ids[N_LONG];
    make_prompt(ids, 3);
    assert_int_equal(compare(session, ask(ids, N_LONG, 12, NULL), 15, 1).draft_n, 0);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
