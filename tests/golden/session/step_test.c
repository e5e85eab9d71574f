// Answers in steps: glinfer_begin, glinfer_step, glinfer_device_fd. Their tokens are those of
// glinfer_generate, whatever the budget and whoever else answers beside them.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_ANSWER = 40, N_SESSIONS = 4, MAX_STEPS = 100000 };

// Steps until n answers, those of sessions, are over.
static void step_to_end(struct tiny_model *f, uint32_t budget_us, uint32_t n,
                        struct glinfer_session *const *sessions, struct answer *answers)
{
    const struct timespec pause = {.tv_nsec = 100000};
    uint32_t n_over = 0;
    for (uint32_t i = 0; n_over < n; i++) {
        const struct glinfer_event event = must_step(f, budget_us);
        uint32_t k = 0;
        assert_true(i < MAX_STEPS);
        while (event.session && k < n && sessions[k] != event.session) {
            k++;
        }
        assert_true(k < n);
        if (event.kind == GLINFER_EVENT_TOKEN) {
            note_token(&answers[k], event.token);
        } else if (event.kind == GLINFER_EVENT_END) {
            assert_int_equal(event.stats->predicted_n, N_ANSWER);
            n_over++;
        } else if (event.kind == GLINFER_EVENT_NONE) {
            nanosleep(&pause, NULL);
        }
    }
}

// Steps until an answer, the only one, has n tokens.
static void step_to(struct tiny_model *f, int n, struct answer *answer)
{
    while (answer->n < n) {
        const struct glinfer_event event = must_step(f, 1000);
        if (event.kind == GLINFER_EVENT_TOKEN) {
            note_token(answer, event.token);
        }
    }
}

TEST(steps_give_the_same_answer)
{
    static const uint32_t budgets[] = {0, 300, 4000, 1000000};
    struct tiny_model *f = *state;
    for (uint32_t chain = 0; chain <= 7; chain += 7) {
        struct answer whole = {0};
        SESSION *session = open_session(f, chain, 256, 8);
        struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, &whole);
        params.temperature = chain ? 1.0F : 0.0F;
        params.seed = 7;
        must_generate(session, &params);
        for (uint32_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
            struct answer answer = {0};
            glinfer_session_reset(session);
            must_begin(session, params);
            step_to_end(f, budgets[i], 1, &session, &answer);
            assert_same(&answer, &whole);
        }
    }
}

TEST(answers_beside_each_other_are_those_alone)
{
    struct tiny_model *f = *state;
    struct glinfer_session *sessions[N_SESSIONS];
    struct answer alone[N_SESSIONS] = {0}, together[N_SESSIONS] = {0};
    for (uint32_t i = 0; i < N_SESSIONS; i++) {
        sessions[i] = open_session(f, 0, 256, 8);
        struct glinfer_generate_params params = ask(prompt, N_PROMPT - i, N_ANSWER, &alone[i]);
        params.temperature = i == 1 ? 1.0F : 0.0F;
        params.seed = 7;
        must_generate(sessions[i], &params);
        glinfer_session_reset(sessions[i]);
    }
    for (uint32_t i = 0; i < N_SESSIONS; i++) {
        struct glinfer_generate_params params = ask(prompt, N_PROMPT - i, N_ANSWER, NULL);
        params.temperature = i == 1 ? 1.0F : 0.0F;
        params.seed = 7;
        must_begin(sessions[i], params);
    }
    step_to_end(f, 2000, N_SESSIONS, sessions, together);
    for (uint32_t i = 0; i < N_SESSIONS; i++) {
        assert_same(&together[i], &alone[i]);
        glinfer_session_destroy(&sessions[i]);
    }
}

TEST(one_joins_while_others_answer)
{
    struct tiny_model *f = *state;
    struct glinfer_session *sessions[2] = {open_session(f, 0, 256, 8), open_session(f, 0, 256, 8)};
    struct answer answers[2] = {0}, alone = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, &alone);
    must_generate(sessions[1], &params);
    glinfer_session_reset(sessions[1]);
    must_begin(sessions[0], params);
    step_to(f, 5, &answers[0]);
    must_begin(sessions[1], params);
    step_to_end(f, 1000, 2, sessions, answers);
    assert_same(&answers[0], &alone);
    assert_same(&answers[1], &alone);
    // Blocking calls of another session do not disturb one that is under way.
    answers[0] = answers[1] = alone = (struct answer){0};
    glinfer_session_reset(sessions[0]);
    glinfer_session_reset(sessions[1]);
    must_begin(sessions[0], params);
    for (int i = 0; i < 3; i++) {
        const struct glinfer_event event = must_step(f, 1000);
        if (event.kind == GLINFER_EVENT_TOKEN) {
            note_token(&answers[0], event.token);
        }
    }
    params = ask(prompt, N_PROMPT, N_ANSWER, &answers[1]);
    must_generate(sessions[1], &params);
    step_to_end(f, 1000, 1, sessions, answers);
    assert_same(&answers[0], &answers[1]);
    glinfer_session_destroy(&sessions[0]);
    glinfer_session_destroy(&sessions[1]);
}

TEST(the_descriptor_says_when)
{
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 0, 256, 8);
    struct answer whole = {0}, answer = {0};
    struct glinfer_error err = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, &whole);
    must_generate(session, &params);
    glinfer_session_reset(session);
    struct pollfd fd = {.fd = glinfer_device_fd(f->device, &err), .events = POLLIN};
    assert_true(fd.fd >= 0);
    assert_int_equal(poll(&fd, 1, 0), 0); // nothing was begun
    must_begin(session, params);
    for (struct glinfer_event event = {0}; event.kind != GLINFER_EVENT_END;) {
        assert_int_equal(poll(&fd, 1, 60000), 1);
        event = must_step(f, 500);
        if (event.kind == GLINFER_EVENT_TOKEN) {
            note_token(&answer, event.token);
        }
    }
    assert_same(&answer, &whole);
    glinfer_session_reset(session); // which ends the answer
    assert_int_equal(glinfer_device_fd(f->device, &err), fd.fd);
}

TEST(an_answer_is_cancelled_or_ended_and_resumed)
{
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 0, 256, 8);
    struct glinfer_event event = {.struct_size = sizeof(event)};
    struct answer whole = {0}, answer = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, &whole);
    must_generate(session, &params);
    glinfer_session_reset(session);
    must_begin(session, params);
    step_to(f, 5, &answer);
    glinfer_session_cancel(session);
    must_fail(glinfer_step(f->device, 1000, &event, &err), CANCELLED, "");
    assert_ptr_equal(event.session, session);
    assert_non_null(event.stats);
    assert_int_equal(event.stats->predicted_n, answer.n);
    params.resume = true;
    must_begin(session, params);
    step_to(f, 10, &answer);
    glinfer_end(session);
    glinfer_end(session); // does nothing
    must_begin(session, params);
    step_to_end(f, 1000, 1, &session, &answer);
    assert_same(&answer, &whole);
}

// A chain is as long as fits a time box by the time that steps were seen to take. A program that
// comes back late finds chains that have been over for long, which says nothing of their time.
TEST(late_calls_do_not_make_chains_long)
{
    const struct timespec pause = {.tv_nsec = 3000000};
    struct tiny_model *f = *state;
    struct glinfer_event event = {0};
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = 256, .max_batch_ms = 1);
    SESSION *session = must_do(glinfer_session_create(f->model, &params, &err));
    must_begin(session, ask(prompt, N_PROMPT, 150, NULL));
    while (event.kind != GLINFER_EVENT_END) {
        event = must_step(f, 200);
        nanosleep(&pause, NULL);
    }
    // A step of the tiny model takes llvmpipe no less than a tenth of a millisecond.
    assert_in_range(event.stats->chain_length, 1, 10);
}

TEST(misuse_is_refused)
{
    struct tiny_model *f = *state;
    struct glinfer_session *session = open_session(f, 0, 256, 8);
    struct glinfer_event event = {.struct_size = sizeof(event)};
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, NULL);
    float logprobs[N_PROMPT];
    size_t size;
    must_fail(glinfer_step(f->device, 1000, &event, &err), INVALID_ARGUMENT, "");
    assert_null(event.session);
    glinfer_end(session);
    must_begin(session, params);
    must_fail(glinfer_begin(session, &params, &err), INVALID_ARGUMENT, "");
    must_fail(glinfer_generate(session, &params, NULL, &err), INVALID_ARGUMENT, "");
    must_fail(glinfer_score(session, prompt, N_PROMPT, logprobs, &err), INVALID_ARGUMENT, "");
    must_fail(glinfer_session_save_memory(session, NULL, 0, &size, &err), INVALID_ARGUMENT, "");
    must_step(f, 1000);
    glinfer_session_destroy(&session); // in the middle of its answer
    must_fail(glinfer_step(f->device, 1000, &event, &err), INVALID_ARGUMENT, "");
}

// A blocking answer that ends inside a chain, whose last steps the GPU leaves out, does not disturb
// one that is under way beside it.
TEST(an_answer_that_ends_early_does_not_disturb)
{
    struct tiny_model *f = *state;
    struct glinfer_session *sessions[2] = {open_session(f, 7, 256, 8), open_session(f, 16, 256, 8)};
    struct answer alone = {0}, answer = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, &alone);
    must_generate(sessions[0], &params);
    glinfer_session_reset(sessions[0]);
    must_begin(sessions[0], params);
    step_to(f, 5, &answer);
    struct glinfer_stats stats = {0};
    for (uint64_t seed = 0; stats.stop != GLINFER_STOP_EOS; seed++) {
        struct answer other = {0};
        struct glinfer_generate_params short_one = ask(prompt, N_PROMPT, 200, &other);
        short_one.ignore_eos = false;
        short_one.temperature = 20.0F;
        short_one.seed = seed;
        assert_true(seed < 100);
        glinfer_session_reset(sessions[1]);
        stats = must_generate(sessions[1], &short_one);
    }
    step_to_end(f, 1000, 1, sessions, &answer);
    assert_same(&answer, &alone);
    glinfer_session_destroy(&sessions[0]);
    glinfer_session_destroy(&sessions[1]);
}

// A copy of a session whose chains are in flight is refused, and its answer goes on.
TEST(a_session_is_not_copied_while_it_answers)
{
    struct tiny_model *f = *state;
    SESSION *from = open_session(f, 4, 256, 8), *to = open_session(f, 4, 256, 8);
    struct answer whole = {0}, answer = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, &whole);
    must_generate(from, &params);
    glinfer_session_reset(from);
    must_begin(from, params);
    while (answer.n < 5) {
        const struct glinfer_event event = must_step(f, 1000);
        if (event.kind == GLINFER_EVENT_TOKEN) {
            note_token(&answer, event.token);
        }
        must_fail(glinfer_session_copy(to, from, SIZE_MAX, &err), INVALID_ARGUMENT, "");
    }
    step_to_end(f, 1000, 1, &from, &answer);
    assert_same(&answer, &whole);
}

static bool destroy_session(void *user, const struct glinfer_token *token)
{
    (void)token;
    glinfer_session_destroy(user);
    return true;
}

// The event does not tell of a session that its own callback has destroyed.
TEST(a_callback_destroys_its_session)
{
    struct tiny_model *f = *state;
    struct glinfer_session *session = open_session(f, 4, 256, 8);
    struct glinfer_event event = {.struct_size = sizeof(event)};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, NULL);
    params.on_token = destroy_session;
    params.token_user = &session;
    must_do(glinfer_begin(session, &params, &err));
    while (session) {
        event = must_step(f, 1000);
    }
    assert_null(event.session);
    assert_int_equal(event.kind, GLINFER_EVENT_NONE);
    must_fail(glinfer_step(f->device, 1000, &event, &err), INVALID_ARGUMENT, "");
}

static bool end_session(void *user, const struct glinfer_token *token)
{
    glinfer_end(user);
    return token->id < 0;
}

// No event tells of the token, which goes with the answer.
TEST(a_callback_ends_its_own_answer)
{
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 0, 256, 8);
    struct glinfer_event event = {.struct_size = sizeof(event)};
    struct glinfer_error err = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, NULL);
    params.on_token = end_session;
    params.token_user = session;
    assert_true(glinfer_begin(session, &params, &err));
    while (glinfer_step(f->device, 1000, &event, &err)) {
        assert_true(event.kind == GLINFER_EVENT_NONE || event.kind == GLINFER_EVENT_PROMPT);
    }
}

// Names the sessions that a callback meddles with: one broke off, one answers in steps, one rests.
struct meddler {
    struct glinfer_session *broken, *stepped, *idle;
    int n_refused;
};

static bool meddle(void *user, const struct glinfer_token *token)
{
    struct meddler *meddler = user;
    struct glinfer_error err = {0};
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 4, NULL);
    (void)token;
    meddler->n_refused += !glinfer_generate(meddler->broken, &params, NULL, &err);
    meddler->n_refused += !glinfer_begin(meddler->broken, &params, &err);
    glinfer_end(meddler->stepped);
    glinfer_end(meddler->idle);
    return true;
}

TEST(a_callback_leaves_other_answers_as_they_are)
{
    struct tiny_model *f = *state;
    struct glinfer_session *session = open_session(f, 0, 256, 8);
    struct meddler meddler = {.broken = open_session(f, 0, 256, 8),
                              .stepped = open_session(f, 0, 256, 8),
                              .idle = open_session(f, 0, 256, 8)};
    struct answer whole = {0}, answer = {.stop_after = 0};
    struct glinfer_error err = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, &whole);
    must_generate(session, &params);
    glinfer_session_reset(session);
    must_begin(meddler.broken, params);
    step_to(f, 5, &answer);
    glinfer_end(meddler.broken);
    must_begin(meddler.stepped, params);
    must_step(f, 1000);
    struct glinfer_generate_params watched = ask(prompt, N_PROMPT, 3, NULL);
    watched.on_token = meddle;
    watched.token_user = &meddler;
    must_generate(session, &watched);
    assert_int_equal(meddler.n_refused, 6);
    struct glinfer_event event = {.struct_size = sizeof(event)};
    assert_false(glinfer_step(f->device, 1000, &event, &err)); // the answer in steps is over
    assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    watched.on_token = NULL;
    must_generate(meddler.idle, &watched); // was not cancelled
    params.resume = true;
    must_begin(meddler.broken, params);
    step_to_end(f, 1000, 1, &meddler.broken, &answer);
    assert_same(&answer, &whole);
    glinfer_session_destroy(&session);
    glinfer_session_destroy(&meddler.broken);
    glinfer_session_destroy(&meddler.stepped);
    glinfer_session_destroy(&meddler.idle);
}

// A descriptor has nothing to say once nothing is under way.
TEST(the_descriptor_rests_behind_an_end)
{
    struct tiny_model *f = *state;
    struct glinfer_error err = {0};
    struct pollfd fd = {.fd = glinfer_device_fd(f->device, &err), .events = POLLIN};
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, NULL);
    for (int way = 0; way < 4; way++) {
        SESSION *session = open_session(f, 0, 256, 8);
        must_begin(session, params);
        must_step(f, 300);
        assert_int_equal(poll(&fd, 1, 60000), 1);
        if (way == 0) {
            glinfer_end(session);
        } else if (way == 1) {
            glinfer_session_reset(session);
        } else if (way == 2) {
            glinfer_session_rewind(session, 1);
        } else {
            glinfer_session_destroy(&session);
        }
        assert_int_equal(poll(&fd, 1, 20), 0);
    }
}

RUN_TESTS(open_tiny_model, close_tiny_model)
