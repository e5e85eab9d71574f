// Tests that a lost GPU is brought back, and answers go on as if nothing had happened; and that a
// dispatch which silently did not run is noticed: every dispatch of a prompt, of the
// end of a prompt and of a decode step is left out once. Runs on a tiny model; exits 77 without a
// device.
#include "engine/session/session.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <string.h>

enum { N_ANSWER = 3 }; // the prompt's token, a chain of one step and the one after it

// The n-th dispatch from now on is meant; 0: none.
static void set_fault(struct tiny_model *f, const char *kind, uint32_t n)
{
    char text[64];
    n = n == 0 ? UINT32_MAX / 2 : n;
    snprintf(text, sizeof(text), "%s:*:%u", kind, gi_gpu_counts(f->device->gpu)->n_faults + n);
    assert_true(gi_settings_set(&f->device->settings, "GLINFER_FAULT", text));
}

static void clear_fault(struct tiny_model *f)
{
    assert_true(gi_settings_set(&f->device->settings, "GLINFER_FAULT", NULL));
}

//-- left out --------------------------------------------------------------------------------------

struct tally {
    uint32_t n, noticed, harmless, silent;
};

// Leaves out the n-th dispatch of an answer.
static void leave_out(struct tiny_model *f, struct glinfer_session *session,
                      struct glinfer_generate_params params, const struct answer *whole, uint32_t n,
                      struct tally *tally)
{
    struct answer answer = {0};
    struct glinfer_error err;
    params.token_user = &answer;
    glinfer_session_reset(session);
    set_fault(f, "skip", n);
    const bool ok = glinfer_generate(session, &params, NULL, &err);
    bool is_same = answer.n <= whole->n;
    for (int i = 0; is_same && i < answer.n; i++) {
        is_same = answer.ids[i] == whole->ids[i];
    }
    tally->n++;
    tally->noticed += !ok && is_same;
    tally->harmless += ok && is_same;
    tally->silent += !is_same; // delivered, whether it was noticed afterwards or not
    assert_true(ok || err.status == GLINFER_STATUS_GPU_LOST ||
                err.status == GLINFER_STATUS_GPU_FAULT);
}

static void leave_out_each(struct tiny_model *f, const char *name, size_t n_prompt,
                           float temperature)
{
    struct glinfer_session *session = open_session(f, 1, 64, 16);
    struct answer whole = {0};
    struct tally tally = {0};
    struct glinfer_generate_params params = ask(prompt, n_prompt, N_ANSWER, &whole);
    params.temperature = temperature;
    params.top_k = 40;
    set_fault(f, "skip", 0);
    const uint32_t before = gi_gpu_counts(f->device->gpu)->n_faults;
    must_generate(session, &params);
    const uint32_t n = gi_gpu_counts(f->device->gpu)->n_faults - before;
    for (uint32_t i = 1; i <= n; i++) {
        leave_out(f, session, params, &whole, i, &tally);
    }
    clear_fault(f);
    print_message("%s: %u dispatches left out, %u noticed, %u harmless, %u wrong and silent\n",
                  name, tally.n, tally.noticed, tally.harmless, tally.silent);
    assert_int_equal(tally.noticed, tally.n);
    struct answer again = {0};
    params.token_user = &again;
    glinfer_session_reset(session);
    must_generate(session, &params);
    assert_same(&again, &whole);
    glinfer_session_destroy(&session);
}

// Skips a test of dispatches that are left out where the device does not count them.
static void need_count(const struct tiny_model *f)
{
    if (gi_gpu_quirks(f->device->gpu) & GI_QUIRK_NO_COUNT) {
        skip();
    }
}

TEST(a_dispatch_left_out_is_noticed)
{
    need_count(*state);
    leave_out_each(*state, "a prompt of a batch", N_PROMPT, 0.0F);
    leave_out_each(*state, "a prompt of a token", 1, 0.0F);
    leave_out_each(*state, "a sampled answer", N_PROMPT, 1.0F);
}

TEST(a_score_notices_too)
{
    struct tiny_model *f = *state;
    need_count(f);
    struct glinfer_session *session = open_session(f, 1, 64, 16);
    float logprobs[N_PROMPT];
    must_do(glinfer_score(session, prompt, N_PROMPT, logprobs, &err));
    set_fault(f, "skip", 5);
    must_fail(glinfer_score(session, prompt, N_PROMPT, logprobs, &err), GPU_LOST, "");
    clear_fault(f);
    glinfer_session_destroy(&session);
}

//-- recovered -------------------------------------------------------------------------------------

enum { N_LONG = 40, N_FIRST = 20 };

// Two turns of a conversation: a prompt that is half as long again as a batch, and one of a token.
static struct answer converse(struct tiny_model *f, struct glinfer_session *session,
                              float temperature, uint32_t lost_at)
{
    struct answer answer = {0};
    struct glinfer_error err = {0};
    const int32_t *const prompts[] = {prompt, prompt + 1};
    const size_t sizes[] = {N_PROMPT, 1};
    const int32_t lengths[] = {N_FIRST, N_LONG - N_FIRST};
    set_fault(f, "lost", lost_at);
    for (int turn = 0; turn < 2; turn++) {
        struct glinfer_generate_params params =
            ask(prompts[turn], sizes[turn], lengths[turn], &answer);
        params.temperature = temperature;
        params.seed = 7;
        if (!glinfer_generate(session, &params, NULL, &err)) {
            assert_int_equal(err.status, GLINFER_STATUS_GPU_LOST);
            params.resume = true; // nothing works until the device is recovered
            assert_false(glinfer_generate(session, &params, NULL, NULL));
            assert_true(glinfer_device_recover(f->device, NULL, NULL, NULL));
            must_generate(session, &params);
        }
    }
    clear_fault(f);
    assert_int_equal(lost_at == 0, err.status == GLINFER_STATUS_OK);
    return answer;
}

TEST(a_lost_context_is_recovered)
{
    static const uint32_t places[] = {1, 20, 30, 100, 370, 380, 600}; // prompts and answers
    struct tiny_model *f = *state;
    for (int sampled = 0; sampled < 2; sampled++) {
        struct glinfer_session *session = open_session(f, 4, 128, 8);
        const struct answer whole = converse(f, session, (float)sampled, 0);
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            glinfer_session_reset(session);
            const struct answer again = converse(f, session, (float)sampled, places[i]);
            assert_same(&again, &whole);
        }
        glinfer_session_destroy(&session);
    }
}

// The device's other sessions and models come back too.
TEST(other_sessions_come_back)
{
    struct tiny_model *f = *state;
    struct answer halves[2], whole = {0};
    struct glinfer_session *sessions[2], *other = open_session(f, 1, 64, 16);
    memset(halves, 0, sizeof(halves));
    for (int i = 0; i < 2; i++) {
        sessions[i] = open_session(f, 3, 64, 16);
        struct glinfer_generate_params params =
            ask(prompt, N_PROMPT, 12, i == 0 ? &whole : &halves[1]);
        must_generate(sessions[i], &params);
    }
    converse(f, other, 0.0F, 500);
    struct glinfer_generate_params params = ask(prompt, 3, 12, &halves[1]);
    must_generate(sessions[1], &params);
    glinfer_session_reset(sessions[0]);
    params = ask(prompt, N_PROMPT, 12, &halves[0]);
    must_generate(sessions[0], &params);
    assert_same(&halves[0], &whole);
    params = ask(prompt, 3, 12, &halves[0]);
    must_generate(sessions[0], &params);
    assert_same(&halves[0], &halves[1]);
    glinfer_session_destroy(&other);
    glinfer_session_destroy(&sessions[0]);
    glinfer_session_destroy(&sessions[1]);
}

TEST(a_recovery_that_fails_can_be_tried_again)
{
    struct tiny_model *f = *state;
    struct glinfer_session *session = open_session(f, 4, 128, 8);
    struct answer answer = {0}, whole = {0};
    struct glinfer_error err;
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_FIRST, &whole);
    must_generate(session, &params);
    glinfer_session_reset(session);
    params = ask(prompt, N_PROMPT, N_FIRST, &answer);
    set_fault(f, "lost", 400);
    assert_false(glinfer_generate(session, &params, NULL, &err));
    assert_in_range(answer.n, 1, N_FIRST - 1);
    // The probe of halves loses the context again.
    f->device->settings.half = GI_CHOICE_NONE;
    assert_true(gi_settings_set(&f->device->settings, "GLINFER_FAULT", "lost:PROBE_HALF"));
    assert_fails(glinfer_device_recover(f->device, NULL, NULL, &err), err, GPU_LOST, "");
    params.resume = true;
    assert_fails(glinfer_generate(session, &params, NULL, &err), err, GPU_LOST, "");
    clear_fault(f);
    assert_true(glinfer_device_recover(f->device, NULL, NULL, &err));
    must_generate(session, &params);
    assert_same(&answer, &whole);
    assert_false(glinfer_generate(session, &params, NULL, &err)); // nothing is broken now
    assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    glinfer_session_destroy(&session);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
