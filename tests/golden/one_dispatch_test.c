// Chains of steps in one dispatch, against many dispatches: the same tokens, asked for before the
// first answer; a fault in the middle of an answer that changes no token, a refusal where groups do
// not run at the same time. On a software renderer a single group does all the work; exits 77
// without a device.
#include "tests/golden/fixture/dispatch_fixture.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/temp_folder.h"

#include <string.h>

enum { N_LONG = 1000, N_TURNS = 3 };

static struct fixture last;

TEST(one_dispatch_gives_the_tokens_of_many)
{
    expect_same_tokens(&last, is_software() ? "persistent:1" : "persistent");
    assert_says(last.log, "a chain of steps is one dispatch");
    assert_null(strstr(last.log, "given up"));
}

// Attention spreads its keys over groups from 1,024 of these heads on; in memory is what a longer
// context left.
TEST(keys_that_become_many_change_no_token)
{
    static const size_t counts[] = {N_LONG, 2 * N_LONG - N_TOKENS, N_LONG};
    static int32_t text[2 * N_LONG];
    struct glinfer_generate_params params = sample_by(0.0F, 40, 0.95F);
    struct answer answers[2][3];
    for (int i = 0; i < 2 * N_LONG; i++) {
        text[i] = 32 + i * i % 91;
    }
    params.prompt = text;
    for (int i = 0; i < 2; i++) {
        open_dispatch(&last, i == 0 ? "direct" : pick("persistent:1", "persistent"), NULL);
        for (int k = 0; k < 3; k++) {
            params.n_prompt = counts[k];
            answer_with(&last, params, &answers[i][k]);
        }
        close_fixture(&last);
    }
    assert_says(last.log, "a chain of steps is one dispatch");
    for (int k = 0; k < 3; k++) {
        assert_int_equal(answers[1][k].n, N_TOKENS);
        assert_same(&answers[1][k], &answers[0][k]);
    }
}

static void answer_in_turns(struct glinfer_device *device,
                            struct glinfer_session *sessions[N_TURNS],
                            struct answer answers[N_TURNS])
{
    struct tiny_model tiny = {.device = device};
    for (int i = 0; i < N_TURNS; i++) {
        must_begin(sessions[i], ask(prompt + i, N_PROMPT - i, N_TOKENS, NULL));
    }
    for (int n_left = N_TURNS; n_left > 0;) {
        const struct glinfer_event event = must_step(&tiny, 0);
        for (int i = 0; i < N_TURNS && event.kind == GLINFER_EVENT_TOKEN; i++) {
            if (event.session == sessions[i]) {
                note_token(&answers[i], event.token);
            }
        }
        if (event.kind == GLINFER_EVENT_END) {
            assert_int_equal(event.stats->dispatch, GLINFER_DISPATCH_PERSISTENT);
            n_left--;
        }
    }
}

// In f16 answers whose steps are one dispatch take turns, by one program for all slots.
TEST(sessions_of_a_group_share_a_program)
{
    const struct test_setting settings[] = {
        {"GLINFER_DISPATCH", pick("persistent:1", "persistent")}, {"GLINFER_HALF", "yes"}, {0}};
    const struct glinfer_session_params params = session_params(64, 16, GLINFER_PRECISION_F16);
    struct glinfer_session *sessions[N_TURNS];
    struct answer alone[N_TURNS] = {0}, together[N_TURNS] = {0};
    last.settings = settings;
    open_fixture(&last, temp_folder);
    last.settings = NULL;
    must_do(glinfer_sessions_create(last.tiny.model, &params, N_TURNS, sessions, &err));
    for (int i = 0; i < N_TURNS; i++) {
        answer_anew(sessions[i], prompt + i, N_PROMPT - i, N_TOKENS, &alone[i]);
        glinfer_session_reset(sessions[i]);
    }
    answer_in_turns(last.tiny.device, sessions, together);
    for (int i = 0; i < N_TURNS; i++) {
        assert_int_equal(together[i].n, N_TOKENS);
        assert_same(&together[i], &alone[i]);
        glinfer_session_destroy(&sessions[i]);
    }
    close_fixture(&last);
    assert_says(last.log, "a chain of steps is one dispatch");
}

// A program takes long to compile: none is made that nobody asked for yet.
TEST(what_is_expected_comes_first)
{
    const struct glinfer_generate_params greedy = sample_by(0.0F, 40, 0.95F);
    struct answer answer;
    open_dispatch(&last, pick("persistent:1", "persistent"), &greedy);
    assert_says(last.log, "is one dispatch");
    assert_null(strstr(last.log, "(sampled, small k)"));
    answer_with(&last, sample_by(0.0F, 40, 0.95F), &answer);
    assert_null(strstr(last.log, "(sampled, small k)"));
    answer_with(&last, sample_by(1.0F, 40, 0.95F), &answer);
    assert_says(last.log, "(sampled, small k)");
    close_fixture(&last);
}

// A wait of no spins is a fault as soon as a chain begins.
TEST(a_fault_changes_no_token)
{
    expect_same_tokens(&last, "persistent:1:128:0");
    assert_says(last.log, "a chain of steps is one dispatch");
    assert_says(last.log, "given up");
}

TEST(software_refuses_groups_that_wait_for_each_other)
{
    if (!is_software()) {
        skip();
    }
    expect_same_tokens(&last, "persistent:2");
    assert_says(last.log,
                "a chain of steps cannot be one dispatch (greedy), and is replayed as many");
}

RUN_TESTS(make_cache, remove_cache)
