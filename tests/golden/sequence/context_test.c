// Tests an answer whose context is full: it stops, fails or shifts. After a shift it continues like
// a new session that is given the kept tokens. Runs on a tiny model; exits 77 without a device.
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

enum { N_CTX = 32, N_ROOM = N_CTX - N_PROMPT + 1, N_LONG = 70 };

static struct glinfer_generate_params ask_full(enum glinfer_context_full what, int32_t n_keep,
                                               struct answer *answer)
{
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_LONG, answer);
    memset(answer, 0, sizeof(*answer));
    params.context_full = what;
    params.n_keep = n_keep;
    return params;
}

TEST(a_full_context_ends_the_answer)
{
    struct answer answer;
    SESSION *session = open_session(*state, 0, N_CTX, 0);
    struct glinfer_generate_params params = ask_full(GLINFER_CONTEXT_FULL_STOP, 0, &answer);
    assert_int_equal(must_generate(session, &params).stop, GLINFER_STOP_CONTEXT);
    assert_int_equal(answer.n, N_ROOM);
    glinfer_session_reset(session);
    params.n_predict = -1;
    assert_int_equal(must_generate(session, &params).stop, GLINFER_STOP_CONTEXT);
    glinfer_session_reset(session);
    params.n_predict = N_ROOM; // that many were asked for
    assert_int_equal(must_generate(session, &params).stop, GLINFER_STOP_LIMIT);
}

TEST(a_full_context_is_an_error_if_asked_for)
{
    struct answer answer;
    SESSION *session = open_session(*state, 0, N_CTX, 0);
    const struct glinfer_generate_params params = ask_full(GLINFER_CONTEXT_FULL_ERROR, 0, &answer);
    must_fail(glinfer_generate(session, &params, NULL, &err), CONTEXT_FULL,
              "context of 32 tokens is full after 19 tokens of the answer");
    assert_int_equal(answer.n, N_ROOM);
    assert_int_equal(glinfer_session_rewind(session, SIZE_MAX), N_CTX + 1);
}

// Does by hand what a shift does: the answer's tokens so far, from a session that stops.
static void answer_by_hand(struct glinfer_session *session, int n_keep, struct answer *whole)
{
    int32_t ids[N_CTX + 1];
    struct answer part;
    struct glinfer_generate_params params = ask_full(GLINFER_CONTEXT_FULL_STOP, 0, &part);
    must_generate(session, &params);
    memcpy(ids, prompt, sizeof(prompt));
    memset(whole, 0, sizeof(*whole));
    int n = N_PROMPT;
    for (;;) {
        for (int i = 0; i < part.n; i++) {
            whole->ids[whole->n++] = ids[n++] = part.ids[i];
        }
        if (whole->n == N_LONG) {
            return;
        }
        assert_int_equal(n, N_CTX + 1);
        const int n_drop = (N_CTX - n_keep) / 2;
        n -= n_drop;
        memmove(ids + n_keep, ids + n_keep + n_drop, (size_t)(n - n_keep) * sizeof(ids[0]));
        glinfer_session_reset(session);
        memset(&part, 0, sizeof(part));
        answer_more(session, ids, (size_t)n - 1, 0, &part);
        params = ask(ids + n - 1, 1, N_LONG - whole->n, &part); // the pending one, in a step
        must_generate(session, &params);
    }
}

TEST(behind_a_shift_an_answer_goes_on_as_if_begun_with_what_was_kept)
{
    static const int keeps[] = {0, 1, 5, N_PROMPT, 29};
    SESSION *session = open_session(*state, 4, N_CTX, 8);
    SESSION *other = open_session(*state, 1, N_CTX, 8);
    struct answer answer, expected;
    for (size_t i = 0; i < sizeof(keeps) / sizeof(keeps[0]); i++) {
        const int32_t n_keep = keeps[i] == N_PROMPT ? -1 : keeps[i];
        const struct glinfer_generate_params params =
            ask_full(GLINFER_CONTEXT_FULL_SHIFT, n_keep, &answer);
        glinfer_session_reset(session);
        glinfer_session_reset(other);
        const struct glinfer_stats stats = must_generate(session, &params);
        assert_int_equal(stats.stop, GLINFER_STOP_LIMIT);
        assert_int_equal(stats.predicted_n, N_LONG);
        answer_by_hand(other, keeps[i], &expected);
        assert_int_equal(answer.n, N_LONG);
        assert_memory_equal(answer.ids, expected.ids, N_LONG * sizeof(answer.ids[0]));
    }
}

TEST(shifted_answers_do_not_depend_on_chains)
{
    static const uint32_t chains[] = {0, 1, 5};
    struct answer answers[3];
    for (size_t i = 0; i < 3; i++) {
        SESSION *session = open_session(*state, chains[i], N_CTX, 0);
        struct glinfer_generate_params params =
            ask_full(GLINFER_CONTEXT_FULL_SHIFT, 3, &answers[i]);
        params.temperature = 0.8f;
        params.seed = 5;
        must_generate(session, &params);
        assert_int_equal(answers[i].n, N_LONG);
        assert_same(&answers[0], &answers[i]);
    }
}

// In steps the rows that move are computed in several calls, as a prompt's are.
TEST(a_shift_in_steps_gives_the_same_answer)
{
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 4, N_CTX, 4);
    struct answer whole, answer = {0};
    struct glinfer_event event = {.struct_size = sizeof(event)};
    struct glinfer_generate_params params = ask_full(GLINFER_CONTEXT_FULL_SHIFT, 3, &whole);
    uint32_t n_prompts = 0;
    must_generate(session, &params);
    glinfer_session_reset(session);
    params.on_token = NULL;
    must_do(glinfer_begin(session, &params, &err));
    while (event.kind != GLINFER_EVENT_END) {
        must_do(glinfer_step(f->device, 0, &event, &err));
        n_prompts += event.kind == GLINFER_EVENT_PROMPT && answer.n > 0;
        if (event.kind == GLINFER_EVENT_TOKEN && event.token->id >= 0) {
            answer.ids[answer.n++] = event.token->id;
        }
    }
    assert_int_equal(answer.n, whole.n);
    assert_memory_equal(answer.ids, whole.ids, (size_t)whole.n * sizeof(whole.ids[0]));
    assert_true(n_prompts > 2); // of batches of 4
}

TEST(a_shift_with_nothing_to_drop_ends_the_answer)
{
    static const int32_t keeps[] = {N_CTX - 1, N_CTX, 1000};
    SESSION *session = open_session(*state, 0, N_CTX, 0);
    struct answer answer;
    for (size_t i = 0; i < 3; i++) {
        const struct glinfer_generate_params params =
            ask_full(GLINFER_CONTEXT_FULL_SHIFT, keeps[i], &answer);
        glinfer_session_reset(session);
        assert_int_equal(must_generate(session, &params).stop, GLINFER_STOP_CONTEXT);
        assert_int_equal(answer.n, N_ROOM);
    }
}

struct shift_watch {
    int n_calls, last;
};

static bool cancel_second_prompt(void *user, enum glinfer_phase phase, uint64_t done,
                                 uint64_t total)
{
    struct shift_watch *watch = user;
    watch->n_calls += phase == GLINFER_PHASE_PROMPT;
    watch->last = (int)done;
    return total == N_PROMPT || phase != GLINFER_PHASE_PROMPT;
}

// The tokens that were kept are there, and their cache is computed by the next answer.
TEST(a_cancelled_shift_leaves_a_session_that_goes_on)
{
    static const int32_t more[] = {50, 51};
    SESSION *session = open_session(*state, 0, N_CTX, 4);
    SESSION *other = open_session(*state, 0, N_CTX, 4);
    struct shift_watch watch = {0};
    struct answer answer, after = {0}, expected = {0};
    int32_t ids[N_CTX];
    struct glinfer_generate_params params = ask_full(GLINFER_CONTEXT_FULL_SHIFT, 6, &answer);
    params.progress = cancel_second_prompt;
    params.progress_user = &watch;
    must_fail(glinfer_generate(session, &params, NULL, &err), CANCELLED, "");
    assert_int_equal(answer.n, N_ROOM);
    assert_int_equal(glinfer_session_rewind(session, SIZE_MAX), 6 + 13 + 1);
    answer_more(session, more, 2, 8, &after);
    memcpy(ids, prompt, 6 * sizeof(ids[0]));
    memcpy(ids + 6, answer.ids + 19 - 14, 14 * sizeof(ids[0]));
    memcpy(ids + 20, more, sizeof(more));
    answer_more(other, ids, 22, 8, &expected);
    assert_same(&after, &expected);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
