#include "tests/embed/host_device.h"

#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

struct egl_host host;
bool has_current;

static struct answer wanted;  // by a device of its own, alone
static struct host_state was; // before a call
static uint32_t n_calls;

//-- the host's part -------------------------------------------------------------------------------

bool make_current(void *user)
{
    (void)user;
    return eglMakeCurrent(host.display, host.read, host.front, host.context);
}

void release_current(void *user)
{
    (void)user;
    eglMakeCurrent(host.display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
}

// Draws a frame between two calls.
void before_call(void)
{
    if (has_current) {
        egl_host_render(&host);
    }
    egl_host_remember(&was, ++n_calls);
}

void after_call(void)
{
    egl_host_expect(&was, n_calls);
    if (has_current) {
        egl_host_render(&host);
    }
}

//-- the library's part ----------------------------------------------------------------------------

struct glinfer_device *open_device(const struct glinfer_host_gl *gl, struct glinfer_error *err)
{
    const struct glinfer_device_params params = PARAMS(device, .allow_software = true, .host = gl);
    return glinfer_device_create(&params, err);
}

struct glinfer_host_gl give_display(void)
{
    struct glinfer_host_gl gl;
    glinfer_host_gl_init(&gl);
    gl.display = host.display;
    return gl;
}

struct glinfer_host_gl give_context(void)
{
    struct glinfer_host_gl gl = give_display();
    gl.context = host.context;
    return gl;
}

struct glinfer_host_gl give_callbacks(void)
{
    struct glinfer_host_gl gl = give_context();
    gl.make_current = make_current;
    gl.release_current = release_current;
    return gl;
}

void load(struct tiny_model *f, const struct glinfer_host_gl *gl)
{
    f->device = must_do(open_device(gl, &err));
    must_do(tiny_model_open_on(f, f->device, test_data("data/models/tiny-q4_0.gguf"), &err));
}

void answer(struct glinfer_session *session)
{
    struct answer found = {0};
    answer_more(session, prompt, N_PROMPT, N_PREDICT, &found);
    assert_same(&wanted, &found);
}

//-- groups ----------------------------------------------------------------------------------------

int open_host_group(void **state)
{
    struct tiny_model f = {0};
    (void)state;
    load(&f, NULL);
    struct glinfer_session *session = open_session(&f, 4, 64, 0);
    answer_more(session, prompt, N_PROMPT, N_PREDICT, &wanted);
    glinfer_session_destroy(&session);
    tiny_model_close(&f);
    has_current = true;
    return 0;
}

int close_host_group(void **state)
{
    (void)state;
    egl_host_close(&host);
    return 0;
}
