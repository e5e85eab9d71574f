// How answers end before their time: what is refused, cancelled or stopped leaves a session that is
// good for the next. Runs on a tiny model; exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/temp_folder.h"

#include <math.h>

static void expect_refusal(struct glinfer_session *session,
                           const struct glinfer_generate_params *params, enum glinfer_status status)
{
    struct glinfer_error err = {0};
    assert_false(glinfer_generate(session, params, NULL, &err));
    assert_int_equal(err.status, status);
    assert_true(err.message[0] != 0);
}

//-- a file that is refused ------------------------------------------------------------------------

// The embedding lacks a row by the file's directory: name, number of dimensions, width, rows.
TEST(what_loading_refuses_is_not_called_supported)
{
    static const char name[] = "token_embd.weight";
    struct tiny_model *f = *state;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    struct glinfer_error err = {0};
    uint64_t rows;
    size_t size;
    char *bytes = read_file(test_data("data/models/tiny-q4_0.gguf"), &size);
    char *at = memmem(bytes, size, name, strlen(name));
    assert_non_null(at);
    at += strlen(name) + 4 + 8;
    memcpy(&rows, at, sizeof(rows));
    rows--;
    memcpy(at, &rows, sizeof(rows));
    assert_int_equal(make_temp_folder(state), 0);
    const struct glinfer_model_params params = PARAMS(model, .path = temp_path("vocabulary"));
    write_file(params.path, bytes, size);
    free(bytes);
    assert_null(glinfer_model_load(f->device, &params, &err));
    assert_true(glinfer_model_inspect(&params, &info, NULL));
    remove_temp_folder(state);
    assert_false(info.is_supported);
    assert_string_equal(info.refusal, err.message);
}

//-- stopping --------------------------------------------------------------------------------------

TEST(the_callback_stops_the_answer)
{
    struct answer answer = {.stop_after = 3};
    SESSION *session = open_session(*state, 8, 256, 0);
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 50, &answer);
    const struct glinfer_stats stats = must_generate(session, &params);
    assert_int_equal(stats.stop, GLINFER_STOP_CALLBACK);
    assert_int_equal(answer.n, 3);
    assert_int_equal(stats.n_past, N_PROMPT + 2);
}

TEST(a_cancelled_answer_leaves_a_usable_session)
{
    struct answer whole = {0}, cancelled = {0}, again = {0};
    SESSION *session = open_session(*state, 4, 256, 0);
    answer_more(session, prompt, N_PROMPT, 50, &whole);
    glinfer_session_reset(session);
    cancelled.cancel = session;
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 50, &cancelled);
    expect_refusal(session, &params, GLINFER_STATUS_CANCELLED);
    assert_in_range(cancelled.n, 2, 8);
    answer_anew(session, prompt, N_PROMPT, 50, &again);
    assert_same(&whole, &again);
}

TEST(a_cancelled_session_holds_what_was_delivered)
{
    struct answer cancelled = {0}, rest = {0}, all = {0};
    int32_t history[2 * N_PROMPT + 50];
    SESSION *session = open_session(*state, 4, 256, 0);
    cancelled.cancel = session;
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 50, &cancelled);
    expect_refusal(session, &params, GLINFER_STATUS_CANCELLED);
    answer_more(session, prompt, N_PROMPT, 10, &rest);
    const size_t n = N_PROMPT + (size_t)cancelled.n;
    memcpy(history, prompt, sizeof(prompt));
    memcpy(history + N_PROMPT, cancelled.ids, (size_t)cancelled.n * sizeof(int32_t));
    memcpy(history + n, prompt, sizeof(prompt));
    answer_anew(session, history, n + N_PROMPT, 10, &all);
    assert_same(&rest, &all);
}

// Calls of progress with GLINFER_PHASE_COMPILE; the `last` one (0: none) cancels.
struct compiling {
    uint32_t n, last;
};

static bool count_compiling(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    struct compiling *compiling = user;
    (void)done, (void)total;
    compiling->n += phase == GLINFER_PHASE_COMPILE;
    return compiling->last == 0 || compiling->n < compiling->last;
}

static bool open_compiling(struct tiny_model *f, struct compiling *compiling,
                           struct glinfer_error *err)
{
    const struct glinfer_generate_params expected = ask(prompt, 0, 4, NULL);
    const struct glinfer_session_params params = PARAMS(
        session, .expected = &expected, .progress = count_compiling, .progress_user = compiling);
    struct glinfer_session *session = glinfer_session_create(f->model, &params, err);
    const bool is_open = session != NULL;
    glinfer_session_destroy(&session);
    return is_open;
}

// Drivers that compile at the first dispatch do so program by program, too.
TEST(compiling_is_cancelled_between_two_programs)
{
    struct compiling all = {0};
    struct tiny_model tiny = {0};
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    assert_true(tiny_model_open(&tiny, test_data("data/models/tiny-q4_0.gguf"), ""));
    glinfer_device_describe(tiny.device, &info);
    const bool is_late = strstr(info.quirks, "late-compile") != NULL;
    struct compiling cut = {.last = 3};
    must_fail(open_compiling(&tiny, &cut, &err), CANCELLED, "");
    assert_int_equal(cut.n, 3);
    must_do(open_compiling(&tiny, &all, &err));
    assert_true(all.n > (is_late ? 24 : 12)); // once or twice for each program
    tiny_model_close(&tiny);
}

// A stop button may be pressed in the moment in which the answer ends.
TEST(cancelling_an_idle_session_does_nothing)
{
    struct tiny_model *f = *state;
    struct answer wanted = {0}, found = {0}, stepped = {0};
    SESSION *session = open_session(f, 1, 0, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 4, &wanted);
    struct glinfer_event event = {.struct_size = sizeof(event)};
    float logprobs[N_PROMPT];
    glinfer_session_cancel(session); // of a new one
    must_generate(session, &params);
    glinfer_session_cancel(session);
    answer_anew(session, prompt, N_PROMPT, 4, &found);
    assert_same(&wanted, &found);
    glinfer_session_cancel(session);
    must_do(glinfer_score(session, prompt, N_PROMPT, logprobs, &err));
    glinfer_session_reset(session);
    glinfer_session_cancel(session);
    params = ask(prompt, N_PROMPT, 4, &stepped);
    must_do(glinfer_begin(session, &params, &err));
    do {
        must_do(glinfer_step(f->device, 1000, &event, &err));
    } while (event.kind != GLINFER_EVENT_END);
    assert_same(&wanted, &stepped);
}

//-- others who use the GPU ------------------------------------------------------------------------

// Returns how long the tokens of an answer took, in ms, at a duty in per cent.
static double time_answer(struct glinfer_session *session, uint32_t duty, struct answer *answer)
{
    enum { N = 40 };
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, N, answer);
    *answer = (struct answer){0};
    glinfer_session_reset(session);
    const struct glinfer_stats stats = must_generate(session, &params);
    assert_true(stats.predicted_cpu_ms > 0);
    assert_true(duty == 100 || stats.predicted_cpu_ms < stats.predicted_ms);
    return stats.predicted_ms;
}

// A tenth of the time leaves nine: the answer takes long, and its tokens are the same. Other
// programs may slow a run down as much, so that the fastest of several runs are compared.
TEST(a_duty_leaves_time_to_others)
{
    enum { N_RUNS = 5 };
    static const uint32_t duties[2] = {100, 10};
    struct tiny_model *f = *state;
    struct answer answers[2] = {0};
    struct glinfer_session *sessions[2] = {0};
    double fastest[2] = {INFINITY, INFINITY};
    for (uint32_t i = 0; i < 2; i++) {
        const struct glinfer_session_params own =
            PARAMS(session, .n_ctx = 64, .chain_length = 1, .precision = GLINFER_PRECISION_F32,
                   .gpu_duty = duties[i]);
        sessions[i] = must_do(glinfer_session_create(f->model, &own, &err));
        time_answer(sessions[i], duties[i], &answers[i]);
    }
    for (uint32_t run = 0; run < N_RUNS; run++) {
        for (uint32_t i = 0; i < 2; i++) {
            const double ms = time_answer(sessions[i], duties[i], &answers[i]);
            fastest[i] = ms < fastest[i] ? ms : fastest[i];
        }
        assert_same(&answers[0], &answers[1]);
    }
    assert_true(fastest[1] > 2 * fastest[0]);
    glinfer_session_destroy(&sessions[0]);
    glinfer_session_destroy(&sessions[1]);
}

// Steps to the end of an answer and returns its stats; the test fails if it has another token.
static struct glinfer_stats step_without_tokens(struct tiny_model *f)
{
    struct glinfer_event event = {0};
    while (event.kind != GLINFER_EVENT_END) {
        event = must_step(f, 1000);
        assert_int_not_equal(event.kind, GLINFER_EVENT_TOKEN);
    }
    return *event.stats;
}

// An answer may break off between its last token and its end.
TEST(an_answer_that_lacks_nothing_but_its_end_is_resumed)
{
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 0, 256, 8);
    struct answer first = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 6, &first);
    must_generate(session, &params);
    const char word[2] = {first.text[first.text_size - 1], 0};
    const char *const words[] = {word};
    for (int kind = 0; kind < 3; kind++) { // a limit, a limit that is lower then, a stop string
        struct answer whole = {0}, answer = {0};
        params = ask(prompt, N_PROMPT, kind == 2 ? 100 : 6, &whole);
        params.stop = words;
        params.n_stop = kind == 2;
        glinfer_session_reset(session);
        const struct glinfer_stats stats = must_generate(session, &params);
        glinfer_session_reset(session);
        must_begin(session, params);
        while (answer.n < whole.n) {
            const struct glinfer_event event = must_step(f, 1000);
            assert_int_not_equal(event.kind, GLINFER_EVENT_END);
            if (event.kind == GLINFER_EVENT_TOKEN) {
                note_token(&answer, event.token);
            }
        }
        glinfer_end(session);
        params.resume = true;
        params.n_predict -= kind == 1 ? 4 : 0;
        must_begin(session, params);
        const struct glinfer_stats resumed = step_without_tokens(f);
        assert_int_equal(resumed.predicted_n, stats.predicted_n);
        assert_int_equal(resumed.stop, stats.stop);
    }
}

RUN_TESTS(open_tiny_model, close_tiny_model)
