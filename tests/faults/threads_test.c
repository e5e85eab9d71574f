// Tests that threads may use a device each, and cancel what another computes. It is worth most with
// ThreadSanitizer (preset threads). Exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct worker {
    pthread_t thread;
    const char *path;
    struct answer answer;
    bool ok;
};

// A whole life: threads fail no cmocka test, so it says how it went.
static void *live(void *arg)
{
    struct worker *worker = arg;
    struct tiny_model tiny = {0};
    struct glinfer_session *session = NULL;
    const struct glinfer_generate_params asked = ask(prompt, N_PROMPT, 20, &worker->answer);
    const struct glinfer_session_params params =
        PARAMS(session, .n_ctx = 64, .precision = GLINFER_PRECISION_F32);
    if (tiny_model_open(&tiny, worker->path, NULL)) {
        session = glinfer_session_create(tiny.model, &params, NULL);
    }
    worker->ok = session && glinfer_generate(session, &asked, NULL, NULL);
    glinfer_session_destroy(&session);
    tiny_model_close(&tiny);
    return NULL;
}

TEST(threads_have_devices_of_their_own)
{
    enum { N = 2 };
    static struct worker workers[N];
    const char *path = test_data("data/models/tiny-q4_0.gguf");
    for (int i = 0; i < N; i++) {
        workers[i].path = path;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, live, &workers[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    for (int i = 0; i < N; i++) {
        assert_true(workers[i].ok);
        assert_same(&workers[i].answer, &workers[0].answer);
    }
}

struct canceller {
    struct glinfer_session *session;
    atomic_bool is_over;
};

static void *cancel(void *arg)
{
    const struct timespec pause = {.tv_nsec = 3000000};
    struct canceller *canceller = arg;
    while (!canceller->is_over) {
        nanosleep(&pause, NULL);
        glinfer_session_cancel(canceller->session);
    }
    return NULL;
}

TEST(another_thread_cancels)
{
    struct answer answer = {0};
    struct canceller canceller = {.session = open_session(*state, 4, 512, 16)};
    pthread_t thread;
    int n_cancelled = 0;
    assert_int_equal(pthread_create(&thread, NULL, cancel, &canceller), 0);
    for (int i = 0; i < 20; i++) {
        const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 200, &answer);
        struct glinfer_error err = {0};
        answer = (struct answer){0};
        glinfer_session_reset(canceller.session);
        const bool ok = glinfer_generate(canceller.session, &params, NULL, &err);
        assert_true(ok || err.status == GLINFER_STATUS_CANCELLED);
        n_cancelled += !ok;
    }
    canceller.is_over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(n_cancelled > 0);
    glinfer_session_destroy(&canceller.session);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
