// Refuses what a host program gives that cannot be used: fields that do not go together, contexts
// that are not current, too old or of another API. Runs on Mesa's surfaceless display; exits 77
// without one.
#include "tests/embed/host_device.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>

#include <EGL/eglext.h>

static bool make_nothing(void *user)
{
    ++*(int *)user;
    return true;
}

static void count_release(void *user)
{
    *(int *)user += 10;
}

static bool fail_to_make(void *user)
{
    (void)user;
    return false;
}

//-- refusals --------------------------------------------------------------------------------------

static void assert_refused(const struct glinfer_host_gl *gl, enum glinfer_status status,
                           const char *says)
{
    struct glinfer_error err = {0};
    before_call();
    assert_null(open_device(gl, &err));
    after_call();
    if (err.status != status || !strstr(err.message, says)) {
        fail_msg("%d: %s", err.status, err.message);
    }
}

TEST(what_does_not_go_together_is_refused)
{
    const enum glinfer_status invalid = GLINFER_STATUS_INVALID_ARGUMENT;
    struct glinfer_host_gl gl = give_display();
    gl.display = NULL;
    assert_refused(&gl, invalid, "display is NULL");
    gl = give_display();
    gl.struct_size = 3;
    assert_refused(&gl, invalid, "struct_size");
    gl = give_context();
    gl.share_context = host.context;
    assert_refused(&gl, invalid, "both set");
    gl = give_callbacks();
    gl.release_current = NULL;
    assert_refused(&gl, invalid, "come together");
    gl = give_callbacks();
    gl.context = NULL;
    assert_refused(&gl, invalid, "without a context");
    gl = give_display();
    gl.display = &gl;
    assert_refused(&gl, GLINFER_STATUS_NO_DEVICE, "not initialised");
    gl = give_context();
    gl.context = &gl;
    assert_refused(&gl, GLINFER_STATUS_NO_DEVICE, "not one of OpenGL ES");
}

TEST(a_name_beside_a_host_is_refused)
{
    const struct glinfer_host_gl gl = give_display();
    const struct glinfer_device_params params = PARAMS(device, .device = "egl", .host = &gl);
    must_fail(glinfer_device_create(&params, &err), INVALID_ARGUMENT, "a name and a host");
}

TEST(a_context_that_is_not_current_is_refused)
{
    int count = 0;
    struct glinfer_host_gl gl = give_context();
    release_current(NULL);
    has_current = false;
    assert_refused(&gl, GLINFER_STATUS_INVALID_ARGUMENT, "is not current in this thread");
    gl = give_callbacks();
    gl.make_current = fail_to_make;
    assert_refused(&gl, GLINFER_STATUS_DRIVER, "make_current failed");
    gl.make_current = make_nothing;
    gl.release_current = count_release;
    gl.user = &count;
    assert_refused(&gl, GLINFER_STATUS_DRIVER, "did not make its context current");
    assert_int_equal(count, 11);
    has_current = true;
    egl_host_make_current(&host);
}

TEST(calls_without_the_context_fail_and_lose_nothing)
{
    struct tiny_model f = {0};
    const struct glinfer_host_gl gl = give_context();
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_PREDICT, NULL);
    load(&f, &gl);
    struct glinfer_session *session = open_session(&f, 4, 64, 0);
    release_current(NULL);
    must_fail(glinfer_generate(session, &params, NULL, &err), INVALID_ARGUMENT, "");
    egl_host_make_current(&host);
    answer(session);
    release_current(NULL);
    glinfer_session_destroy(&session);
    tiny_model_close(&f);
    assert_ptr_equal(eglGetCurrentContext(), EGL_NO_CONTEXT);
    egl_host_make_current(&host);
    egl_host_render(&host);
}

TEST(a_context_of_another_api_is_refused)
{
    struct glinfer_host_gl gl = give_context();
    EGLConfig config = NULL;
    EGLint n = 0;
    const EGLint attribs[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
                              EGL_OPENGL_BIT, EGL_NONE};
    eglBindAPI(EGL_OPENGL_API);
    if (eglChooseConfig(host.display, attribs, &config, 1, &n) && n == 1) {
        gl.context = eglCreateContext(host.display, config, EGL_NO_CONTEXT, NULL);
    }
    eglBindAPI(EGL_OPENGL_ES_API);
    if (n != 1 || gl.context == EGL_NO_CONTEXT) {
        skip();
    }
    assert_refused(&gl, GLINFER_STATUS_NO_DEVICE, "not one of OpenGL ES");
    eglDestroyContext(host.display, gl.context);
}

// Mesa makes contexts as old as MESA_GLES_VERSION_OVERRIDE says.
TEST(an_old_context_is_refused)
{
    const EGLint attribs[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
    host.context = eglCreateContext(host.display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attribs);
    const struct glinfer_host_gl gl = give_context();
    assert_true(eglMakeCurrent(host.display, EGL_NO_SURFACE, EGL_NO_SURFACE, host.context));
    if (!strstr((const char *)glGetString(GL_VERSION), " 3.0")) {
        skip();
    }
    must_fail(open_device(&gl, &err), NO_DEVICE, "compute shaders need 3.1");
    assert_int_equal(glGetError(), GL_NO_ERROR);
    assert_ptr_equal(eglGetCurrentContext(), host.context);
    egl_host_close(&host);
}

int main(int argc, char **argv)
{
    const bool is_old = argc > 1 && strcmp(argv[1], "--old") == 0;
    if (!(is_old ? egl_host_find(&host) : egl_host_open(&host))) {
        printf("skipped: there is no surfaceless display\n");
        return SKIPPED;
    }
    (is_old ? cmocka_set_test_filter : cmocka_set_skip_filter)("an_old_*");
    return is_old ? run_listed(NULL, NULL, NULL, NULL)
                  : run_listed(open_host_group, close_host_group, NULL, NULL);
}
