// Tests that a dispatch which silently did not run is noticed: every dispatch of a prompt, of the
// end of a prompt and of a decode step is left out once. Runs on a tiny model; exits 77 without a
// device.
#include "engine/run/session.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>

enum { N_ANSWER = 3 }; // the prompt's token, a chain of one step and the one behind it

static void set_fault(struct tiny_model *f, const char *kind, uint32_t n)
{
    char text[64];
    snprintf(text, sizeof(text), "%s:*:%u", kind, gi_gpu_fault_count(f->device->gpu) + n);
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
    set_fault(f, "skip", UINT32_MAX / 2);
    const uint32_t before = gi_gpu_fault_count(f->device->gpu);
    must_generate(session, &params);
    const uint32_t n = gi_gpu_fault_count(f->device->gpu) - before;
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

static void a_dispatch_left_out_is_noticed(void **state)
{
    leave_out_each(*state, "a prompt of a batch", N_PROMPT, 0.0F);
    leave_out_each(*state, "a prompt of a token", 1, 0.0F);
    leave_out_each(*state, "a sampled answer", N_PROMPT, 1.0F);
}

static void a_score_notices_too(void **state)
{
    struct tiny_model *f = *state;
    struct glinfer_session *session = open_session(f, 1, 64, 16);
    float logprobs[N_PROMPT];
    struct glinfer_error err;
    assert_true(glinfer_score(session, prompt, N_PROMPT, logprobs, &err));
    set_fault(f, "skip", 5);
    assert_false(glinfer_score(session, prompt, N_PROMPT, logprobs, &err));
    assert_int_equal(err.status, GLINFER_STATUS_GPU_LOST);
    clear_fault(f);
    glinfer_session_destroy(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dispatch_left_out_is_noticed),
        cmocka_unit_test(a_score_notices_too),
    };
    return cmocka_run_group_tests(tests, open_tiny_model, close_tiny_model);
}
