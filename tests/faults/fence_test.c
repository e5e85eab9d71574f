// Answers in steps on a GPU that computes beside the program: chains follow each other before their
// tokens are delivered, and the descriptor wakes by fences of the kernel's. The driver is a
// software renderer that says it is another, whose fences are told when to be done. Exits 77
// without a device.
#include "engine/session/session.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/wrap.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl31.h>

enum { N_ANSWER = 40, MAX_FENCES = 200, MAX_STEPS = 100000 };

//-- the driver ------------------------------------------------------------------------------------

static bool has_fences, is_held; // nothing is done yet
static int fences[MAX_FENCES];   // ours, of the same event as those that were handed out
static uint32_t n_fences, n_syncs;

WRAP(const GLubyte *, glGetString, GLenum name)
{
    return name == GL_RENDERER ? (const GLubyte *)"Patient GPU" : __real_glGetString(name);
}

WRAP(GLenum, glClientWaitSync, GLsync sync, GLbitfield flags, GLuint64 timeout)
{
    return is_held && timeout == 0 ? GL_TIMEOUT_EXPIRED
                                   : __real_glClientWaitSync(sync, flags, timeout);
}

static EGLSyncKHR EGLAPIENTRY create_sync(EGLDisplay display, EGLenum type, const EGLint *attribs)
{
    static int sync;
    (void)display;
    (void)attribs;
    assert_int_equal(type, EGL_SYNC_NATIVE_FENCE_ANDROID);
    n_syncs++;
    return &sync;
}

static EGLBoolean EGLAPIENTRY destroy_sync(EGLDisplay display, EGLSyncKHR sync)
{
    (void)display;
    assert_non_null(sync);
    n_syncs--;
    return EGL_TRUE;
}

static EGLint EGLAPIENTRY dup_fence(EGLDisplay display, EGLSyncKHR sync)
{
    (void)display;
    assert_non_null(sync);
    assert_true(n_fences < MAX_FENCES);
    const int fd = eventfd(is_held ? 0 : 1, EFD_CLOEXEC | EFD_NONBLOCK);
    fences[n_fences++] = fd;
    return fd;
}

__eglMustCastToProperFunctionPointerType __real_eglGetProcAddress(const char *name);
__eglMustCastToProperFunctionPointerType __wrap_eglGetProcAddress(const char *name);
__eglMustCastToProperFunctionPointerType __wrap_eglGetProcAddress(const char *name)
{
    typedef __eglMustCastToProperFunctionPointerType function;
    return !has_fences                                       ? __real_eglGetProcAddress(name)
           : strcmp(name, "eglCreateSyncKHR") == 0           ? (function)create_sync
           : strcmp(name, "eglDestroySyncKHR") == 0          ? (function)destroy_sync
           : strcmp(name, "eglDupNativeFenceFDANDROID") == 0 ? (function)dup_fence
                                                             : __real_eglGetProcAddress(name);
}

WRAP(const char *, eglQueryString, EGLDisplay display, EGLint name)
{
    static char list[1 << 14];
    const char *real = __real_eglQueryString(display, name);
    if (!has_fences || display == EGL_NO_DISPLAY || name != EGL_EXTENSIONS || !real) {
        return real;
    }
    snprintf(list, sizeof(list), "%s EGL_ANDROID_native_fence_sync", real);
    return list;
}

//-- answers ---------------------------------------------------------------------------------------

static void note(struct answer *answer, const struct glinfer_event *event)
{
    if (event->kind == GLINFER_EVENT_TOKEN && event->token->id >= 0) {
        answer->ids[answer->n++] = event->token->id;
    }
}

static bool is_readable(int fd, int ms)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, ms) == 1;
}

static void assert_same_ids(const struct answer *a, const struct answer *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->ids, b->ids, (size_t)a->n * sizeof(a->ids[0]));
}

// The GPU has a chain to work on while the tokens of another are delivered, one a call.
TEST(chains_follow_before_tokens_are_delivered)
{
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 4, 256, 8);
    struct answer whole = {0}, answer = {0};
    answer_more(session, prompt, N_PROMPT, N_ANSWER, &whole);
    glinfer_session_reset(session);
    must_begin(session, ask(prompt, N_PROMPT, N_ANSWER, &whole));
    uint32_t n_full = 0;
    for (struct glinfer_event event = {0}; event.kind != GLINFER_EVENT_END;) {
        event = must_step(f, 500);
        note(&answer, &event);
        n_full +=
            event.kind == GLINFER_EVENT_TOKEN && session->runner.n_flights == GI_CHAINS_IN_FLIGHT;
    }
    assert_same_ids(&answer, &whole);
    assert_true(n_full > N_ANSWER / 2);
}

// Steps until the GPU, all of whose work is held, is waited for by its fence: a look at it by time
// would follow within half a millisecond.
static void step_until_held(struct tiny_model *f, int fd, struct answer *answer)
{
    uint64_t count;
    is_held = true;
    for (uint32_t i = 0; i < n_fences; i++) {
        (void)!read(fences[i], &count, sizeof(count)); // none is done yet, or it is closed
    }
    for (uint32_t i = 0; is_readable(fd, 2); i++) {
        assert_true(i < MAX_STEPS);
        const struct glinfer_event event = must_step(f, 500);
        note(answer, &event);
    }
}

// Answers once in one call, and again in steps with fences: n tokens, and then until the GPU is
// held. Returns the descriptor.
static int begin_held(struct tiny_model *f, struct glinfer_session *session, int n,
                      struct answer *whole, struct answer *answer)
{
    struct glinfer_error err = {0};
    answer_more(session, prompt, N_PROMPT, N_ANSWER, whole);
    glinfer_session_reset(session);
    has_fences = true;
    n_fences = 0;
    const int fd = glinfer_device_fd(f->device, &err);
    assert_true(fd >= 0);
    must_begin(session, ask(prompt, N_PROMPT, N_ANSWER, whole));
    while (answer->n < n) {
        const struct glinfer_event event = must_step(f, 500);
        note(answer, &event);
    }
    step_until_held(f, fd, answer);
    return fd;
}

static void let_go(void)
{
    const uint64_t one = 1;
    is_held = false;
    for (uint32_t i = 0; i < n_fences; i++) {
        (void)!write(fences[i], &one, sizeof(one));
    }
}

TEST(a_fence_wakes_the_descriptor)
{
    struct tiny_model *f = *state;
    struct glinfer_session *session = open_session(f, 4, 256, 8);
    struct answer whole = {0}, answer = {0};
    const int fd = begin_held(f, session, 12, &whole, &answer);
    assert_true(n_fences > 0);
    assert_int_equal(n_syncs, 0);
    let_go();
    assert_true(is_readable(fd, 0));
    for (struct glinfer_event event = {0}; event.kind != GLINFER_EVENT_END;) {
        assert_true(is_readable(fd, 60000));
        event = must_step(f, 500);
        note(&answer, &event);
    }
    assert_same_ids(&answer, &whole);
    glinfer_session_destroy(&session);
    for (uint32_t i = 0; i < n_fences; i++) {
        assert_int_equal(fcntl(fences[i], F_GETFD), -1); // all are closed
    }
    assert_false(is_readable(fd, 0));
    has_fences = false;
}

// An answer that ends while a fence is watched takes it out of the set.
TEST(an_answer_that_ends_takes_its_fence_along)
{
    struct tiny_model *f = *state;
    struct glinfer_session *session = open_session(f, 4, 256, 8);
    struct answer whole = {0}, answer = {0};
    const int fd = begin_held(f, session, 8, &whole, &answer);
    glinfer_end(session);
    let_go();
    assert_false(is_readable(fd, 30));
    glinfer_session_destroy(&session);
    for (uint32_t i = 0; i < n_fences; i++) {
        assert_int_equal(fcntl(fences[i], F_GETFD), -1);
    }
    has_fences = false;
}

int main(void)
{
    setenv("GLINFER_DISPATCH", "direct", 1);
    return run_listed(open_tiny_model, close_tiny_model, NULL, NULL);
}
