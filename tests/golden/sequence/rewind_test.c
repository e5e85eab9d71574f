// Sessions that go back to any place of a text that took two prompts: the answer is that of a
// session which went nowhere else, and with layers that keep states no more is computed anew than
// what the last prompt added. Drafts, which go back where they were wrong, are left out with such
// layers. Runs on a tiny model (GLINFER_TEST_TINY); exits 77 without a device.
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

enum { N_FIRST = 6, N_ANSWER = 8, N_REPEATED = 40 };

// Counts the tokens that are processed before the first of an answer.
struct progress {
    uint32_t first, n;
};

static bool on_progress(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    struct progress *progress = user;
    (void)total;
    if (phase == GLINFER_PHASE_PROMPT && done > 0) {
        progress->first = progress->n == 0 ? (uint32_t)done : progress->first;
        progress->n++;
    }
    return true;
}

static struct progress generate(struct glinfer_session *session, const int32_t *ids, size_t n,
                                struct answer *answer)
{
    struct progress progress = {0};
    struct glinfer_generate_params params = ask(ids, n, N_ANSWER, answer);
    memset(answer, 0, sizeof(*answer));
    params.progress = on_progress;
    params.progress_user = &progress;
    must_generate(session, &params);
    return progress;
}

// Answers a prompt, then another one; *n becomes the tokens before the second.
static void answer_twice(struct glinfer_session *session, size_t *n, struct answer *second)
{
    struct answer first;
    generate(session, prompt, N_FIRST, &first);
    *n = glinfer_session_rewind(session, SIZE_MAX) - 1; // the last is not processed yet
    generate(session, prompt, N_PROMPT, second);
}

TEST(a_retry_gives_the_same_answer)
{
    SESSION *session = open_session(*state, 0, 128, 16);
    struct answer second, again;
    size_t n;
    answer_twice(session, &n, &second);
    for (size_t cut = 0; cut < N_PROMPT; cut++) { // the pending token, and of the prompt `cut`
        assert_int_equal(glinfer_session_rewind(session, n + 1 + cut), n + 1 + cut);
        const struct progress progress = generate(session, prompt + cut, N_PROMPT - cut, &again);
        assert_same(&second, &again);
        // Tokens computed anew are reported with those before them, a prompt's without.
        assert_true(progress.n == 0 || progress.first == N_PROMPT - cut || progress.first > n);
    }
}

TEST(a_place_before_the_last_prompt_gives_the_answer_of_then)
{
    SESSION *session = open_session(*state, 0, 128, 16);
    SESSION *fresh = open_session(*state, 0, 128, 16);
    struct answer second, want, again;
    size_t n;
    answer_twice(session, &n, &second);
    generate(fresh, prompt, N_PROMPT, &want);
    for (size_t cut = N_FIRST; cut-- > 0;) { // the first prompt begins as the other one does
        assert_int_equal(glinfer_session_rewind(session, cut), cut);
        generate(session, prompt + cut, N_PROMPT - cut, &again);
        assert_same(&want, &again);
        assert_int_equal(glinfer_session_rewind(session, N_FIRST), N_FIRST);
    }
}

// Returns false at the first report of a prompt's end.
static bool stop_late(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    (void)user;
    return phase != GLINFER_PHASE_PROMPT || done < total;
}

// Returns false at the last report of a prompt of N_PROMPT tokens, with none pending.
static bool stop_at_prompt(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    (void)user;
    return phase != GLINFER_PHASE_PROMPT || done < total || total != N_PROMPT;
}

TEST(a_prompt_that_was_cancelled_leaves_nothing_behind)
{
    SESSION *session = open_session(*state, 0, 128, 4);
    SESSION *fresh = open_session(*state, 0, 128, 4);
    struct answer answer, want;
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, &answer);
    generate(session, prompt, N_FIRST, &answer);
    generate(fresh, prompt, N_FIRST, &want);
    params.progress = stop_late;
    must_fail(glinfer_generate(session, &params, NULL, &err), CANCELLED, "");
    generate(session, prompt + 1, N_PROMPT - 1, &answer);
    generate(fresh, prompt + 1, N_PROMPT - 1, &want);
    assert_same(&want, &answer);
}

// Only the end of the second prompt is submitted after its batches.
TEST(an_answer_of_one_token_leaves_the_state_of_its_prompt)
{
    for (int32_t n_predict = 0; n_predict < 2; n_predict++) {
        SESSION *session = open_session(*state, 0, 128, 16);
        SESSION *fresh = open_session(*state, 0, 128, 16);
        struct answer answer = {0}, want;
        answer_more(session, prompt, N_FIRST, 0, &answer);
        answer_more(session, prompt + N_FIRST, 3, n_predict, &answer);
        assert_int_equal(glinfer_session_rewind(session, N_FIRST), N_FIRST);
        generate(session, prompt + N_FIRST, N_PROMPT - N_FIRST, &answer);
        generate(fresh, prompt, N_PROMPT, &want);
        assert_same(&want, &answer);
    }
}

// Cancels a call at the last report of a prompt after recomputed tokens. The checkpoint of states
// that it made is for tokens that the session does not keep.
TEST(a_cancelled_retry_leaves_no_state_that_is_wrong)
{
    SESSION *session = open_session(*state, 0, 128, 4);
    SESSION *fresh = open_session(*state, 0, 128, 4);
    struct answer answer, want;
    size_t n;
    generate(session, prompt, 4, &answer);
    generate(session, prompt, N_FIRST, &answer);
    generate(fresh, prompt, 4, &want);
    generate(fresh, prompt, N_FIRST, &want);
    n = glinfer_session_rewind(session, SIZE_MAX) - 3; // in the answer, after the checkpoint
    assert_int_equal(glinfer_session_rewind(session, n), n);
    assert_int_equal(glinfer_session_rewind(fresh, n), n);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, &answer);
    params.progress = stop_at_prompt;
    must_fail(glinfer_generate(session, &params, NULL, &err), CANCELLED, "");
    generate(session, prompt + 1, N_PROMPT - 1, &answer);
    generate(fresh, prompt + 1, N_PROMPT - 1, &want);
    assert_same(&want, &answer);
}

TEST(drafts_leave_no_state_behind_that_was_wrong)
{
    SESSION *session = open_session(*state, 0, 128, 16);
    struct answer plain = {0}, drafted = {0};
    int32_t ids[N_REPEATED];
    for (int i = 0; i < N_REPEATED; i++) {
        ids[i] = 40 + i % 5 * 7 + (i % 17 == 16);
    }
    struct glinfer_generate_params params = ask(ids, N_REPEATED, 32, &plain);
    must_generate(session, &params);
    glinfer_session_reset(session);
    params.token_user = &drafted;
    params.lookup = 7;
    params.lookup_match = 1;
    params.lookup_always = true;
    must_generate(session, &params);
    assert_same(&plain, &drafted);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
