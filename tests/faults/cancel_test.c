// A self-test that is cancelled leaves a session's text as it was. Runs on a tiny model; exits 77
// without a device.
#include "engine/session/session.h"
#include "gpu/device/fence.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/wrap.h"

#include <string.h>

#include <GLES3/gl31.h>

enum { N_KEPT = 200 }; // tokens, more than the place where batches are tested

// A GPU that is done with nothing at once, as software renderers are.
static bool is_slow;

WRAP(GLenum, glClientWaitSync, GLsync sync, GLbitfield flags, GLuint64 timeout)
{
    return is_slow && timeout == 0 ? GL_TIMEOUT_EXPIRED
                                   : __real_glClientWaitSync(sync, flags, timeout);
}

// Cancels at one of the tests that follow.
struct canceller {
    atomic_bool flag;
    int n_tested, at;
};

static void cancel_at(void *user, const struct glinfer_tested *tested)
{
    struct canceller *canceller = user;
    (void)tested;
    if (canceller->n_tested++ == canceller->at) {
        atomic_store(&canceller->flag, true);
    }
}

// Tests all programs, of which one cancels; returns false if that was heard.
static bool test_programs(struct glinfer_session *session, int at, int *n_tested)
{
    struct canceller canceller = {.at = at};
    struct gi_tables *tables = &session->tables;
    struct gi_platform_saved saved;
    struct glinfer_error err = {0};
    uint32_t lists = 0;
    for (uint32_t end = 0; end < GI_STEP_END_COUNT; end++) {
        lists |= gi_tables_choose(tables, (enum gi_step_end)end, 0, true);
    }
    must(gi_session_enter(session, &saved, &err), &err);
    gi_tables_forget(tables);
    tables->listener = (struct gi_listener){cancel_at, &canceller};
    gi_program_table_doubt(tables->recorder.programs, true);
    gi_gpu_watch(gi_session_gpu(session), &canceller.flag);
    is_slow = true;
    const bool ok = gi_tables_prepare(tables, lists, NULL, NULL, &err);
    is_slow = false;
    gi_gpu_watch(gi_session_gpu(session), NULL);
    gi_program_table_doubt(tables->recorder.programs, false);
    tables->listener = (struct gi_listener){0};
    assert_true(ok || err.status == GLINFER_STATUS_CANCELLED);
    gi_session_leave(session, &saved);
    *n_tested = canceller.n_tested;
    return ok;
}

static void read_cache(struct glinfer_session *session, uint8_t *bytes, size_t size)
{
    const struct gi_range *range = &session->sequence.cache[0].range;
    struct gi_platform_saved saved;
    assert_true(size <= range->size);
    must_do(gi_session_enter(session, &saved, &err));
    must_do(
        gi_buffer_read(range->buffer, gi_session_gpu(session), range->offset, bytes, size, &err));
    gi_session_leave(session, &saved);
}

TEST(a_self_test_that_is_cancelled_keeps_the_text)
{
    enum { SIZE = 32768 };
    static uint8_t before[SIZE], after[SIZE];
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 1, 512, 0);
    struct answer answer = {0};
    int32_t tokens[N_KEPT];
    int n_cancelled = 0, n = 0, n_tested;
    for (int i = 0; i < N_KEPT; i++) {
        tokens[i] = 32 + i % 90;
    }
    answer_more(session, tokens, N_KEPT, 2, &answer);
    read_cache(session, before, SIZE);
    assert_true(test_programs(session, -1, &n));
    for (int at = 0; at < n; at += n / 6 + 1) {
        n_cancelled += !test_programs(session, at, &n_tested);
        read_cache(session, after, SIZE);
        assert_memory_equal(before, after, SIZE);
    }
    assert_true(n_cancelled > 0);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
