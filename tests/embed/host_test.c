// A program that draws by EGL has the library inside: on a context of the library's own, on the
// program's display, and in the program's context. After every call the context, its state and its
// pending error are as before, frames come out right, and tokens are those of a lone run. Runs on
// Mesa's surfaceless display; exits 77 without one.
#include "tests/embed/host_device.h"
#include "tests/unit/cmocka_test.h"

#include <pthread.h>
#include <stdio.h>

// Calls the functions that need the device, and looks after each one.
static void use_all(const struct glinfer_host_gl *gl)
{
    struct tiny_model f = {0};
    struct glinfer_session *session = NULL;
    struct glinfer_device_rates rates = {.struct_size = sizeof(rates)};
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    float logprobs[N_PROMPT];
    CALL(load(&f, gl));
    CALL(glinfer_device_describe(f.device, &info));
    assert_true(!gl || strcmp(info.device, "host") == 0);
    CALL(session = open_session(&f, 4, 64, 0));
    CALL(answer(session));
    CALL(assert_true(glinfer_score(session, prompt, N_PROMPT, logprobs, NULL)));
    CALL(assert_true(glinfer_device_measure(f.device, &rates, NULL)));
    CALL(glinfer_session_reset(session));
    CALL(assert_true(glinfer_device_recover(f.device, NULL, NULL, NULL)));
    CALL(answer(session));
    CALL(glinfer_session_destroy(&session));
    CALL(tiny_model_close(&f));
}

//-- untouched -------------------------------------------------------------------------------------

TEST(a_device_of_its_own_touches_nothing)
{
    use_all(NULL);
}

TEST(a_device_on_the_display_touches_nothing)
{
    struct glinfer_host_gl gl = give_display();
    use_all(&gl);
    gl.share_context = host.context;
    use_all(&gl);
}

TEST(a_device_in_the_context_touches_nothing)
{
    struct glinfer_host_gl gl = give_context();
    use_all(&gl);
    gl = give_callbacks(); // which swap the surfaces, and leave nothing current
    use_all(&gl);
}

TEST(a_context_is_fetched_and_released)
{
    const struct glinfer_host_gl gl = give_callbacks();
    release_current(NULL);
    has_current = false;
    use_all(&gl);
    has_current = true;
    egl_host_make_current(&host);
}

TEST(transform_feedback_goes_on)
{
    static const char *const text = "#version 310 es\n"
                                    "out float kept;\n"
                                    "void main()\n"
                                    "{\n"
                                    "    kept = float(gl_VertexID) + 1.0;\n"
                                    "    gl_Position = vec4(0.0);\n"
                                    "}\n";
    static const char *const fragment = "#version 310 es\nvoid main()\n{\n}\n";
    const char *const name = "kept";
    const struct glinfer_host_gl gl = give_context();
    const GLuint program = glCreateProgram();
    const GLenum kinds[] = {GL_VERTEX_SHADER, GL_FRAGMENT_SHADER};
    for (int i = 0; i < 2; i++) {
        const GLuint shader = glCreateShader(kinds[i]);
        glShaderSource(shader, 1, i == 0 ? &text : &fragment, NULL);
        glCompileShader(shader);
        glAttachShader(program, shader);
        glDeleteShader(shader);
    }
    glTransformFeedbackVaryings(program, 1, &name, GL_INTERLEAVED_ATTRIBS);
    glLinkProgram(program);
    glUseProgram(program);
    glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, host.buffers[0]);
    glBeginTransformFeedback(GL_POINTS);
    glDrawArrays(GL_POINTS, 0, 1);
    has_current = false; // no frame meanwhile
    use_all(&gl);
    has_current = true;
    glDrawArrays(GL_POINTS, 1, 1);
    glEndTransformFeedback();
    const float *kept = glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, 8, GL_MAP_READ_BIT);
    assert_non_null(kept);
    assert_true(kept[0] == 1.0F && kept[1] == 2.0F);
    glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
    glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, 0);
    glUseProgram(host.program);
    glDeleteProgram(program);
    assert_int_equal(glGetError(), GL_NO_ERROR);
}

//-- losses ----------------------------------------------------------------------------------------

// Fills buffers with the names that the device had in the old context.
static void check_buffers(bool is_to_fill)
{
    for (GLuint i = 100; i < 400; i++) {
        uint32_t word = i;
        glBindBuffer(GL_ARRAY_BUFFER, i);
        if (is_to_fill) {
            glBufferData(GL_ARRAY_BUFFER, sizeof(word), &word, GL_STATIC_READ);
        } else {
            const uint32_t *there =
                glMapBufferRange(GL_ARRAY_BUFFER, 0, sizeof(word), GL_MAP_READ_BIT);
            assert_true(there && *there == i);
            glUnmapBuffer(GL_ARRAY_BUFFER);
        }
    }
}

TEST(a_new_context_takes_the_place_of_a_lost_one)
{
    struct tiny_model f = {0};
    struct glinfer_host_gl gl = give_context();
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_PREDICT, NULL);
    load(&f, &gl);
    struct glinfer_session *session = open_session(&f, 4, 64, 0);
    answer(session);
    egl_host_close(&host);
    egl_host_start(&host);
    check_buffers(true);
    gl = give_context();
    assert_true(glinfer_device_set_host(f.device, &gl, NULL));
    must_fail(glinfer_generate(session, &params, NULL, &err), GPU_LOST, "");
    CALL(assert_true(glinfer_device_recover(f.device, NULL, NULL, NULL)));
    check_buffers(false);
    glinfer_session_reset(session);
    CALL(answer(session));
    CALL(glinfer_session_destroy(&session));
    CALL(tiny_model_close(&f));
    check_buffers(false);
}

TEST(a_device_of_its_own_takes_no_host)
{
    const struct glinfer_host_gl gl = give_display();
    struct glinfer_device *device = must_do(open_device(NULL, &err));
    must_fail(glinfer_device_set_host(device, &gl, &err), INVALID_ARGUMENT, "");
    glinfer_device_destroy(&device);
}

//-- threads ---------------------------------------------------------------------------------------

static void *answer_in_a_thread(void *user)
{
    glinfer_session_reset(user);
    answer(user);
    return eglGetCurrentContext();
}

TEST(another_thread_may_call)
{
    struct glinfer_host_gl ways[] = {give_display(), give_callbacks()};
    for (int i = 0; i < 2; i++) {
        struct tiny_model f = {0};
        pthread_t thread;
        void *current = &thread;
        load(&f, &ways[i]);
        struct glinfer_session *session = open_session(&f, 4, 64, 0);
        release_current(NULL);
        assert_int_equal(pthread_create(&thread, NULL, answer_in_a_thread, session), 0);
        assert_int_equal(pthread_join(thread, &current), 0);
        assert_ptr_equal(current, EGL_NO_CONTEXT);
        egl_host_make_current(&host);
        glinfer_session_reset(session);
        CALL(answer(session));
        glinfer_session_destroy(&session);
        tiny_model_close(&f);
    }
}

// Two sessions of a device, each a part of its answer in turn.
static void *answer_in_turns(void *user)
{
    struct tiny_model *f = user;
    struct glinfer_session *sessions[] = {open_session(f, 2, 64, 0), open_session(f, 2, 64, 0)};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            answer_in_a_thread(sessions[i]);
        }
    }
    glinfer_session_destroy(&sessions[0]);
    glinfer_session_destroy(&sessions[1]);
    return NULL;
}

TEST(two_devices_and_four_sessions_work_at_once)
{
    struct tiny_model models[2] = {0};
    pthread_t threads[2];
    const struct glinfer_host_gl gl = give_display();
    load(&models[0], NULL);
    load(&models[1], &gl);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, answer_in_turns, &models[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        egl_host_render(&host);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        CALL(tiny_model_close(&models[i]));
    }
}

//-- ends ------------------------------------------------------------------------------------------

TEST(a_thread_that_egl_has_released_goes_on)
{
    struct tiny_model f = {0};
    const struct glinfer_host_gl gl = give_display();
    load(&f, &gl);
    struct glinfer_session *session = open_session(&f, 4, 64, 0);
    assert_true(eglReleaseThread());
    answer(session);
    assert_true(eglReleaseThread());
    glinfer_session_destroy(&session);
    tiny_model_close(&f);
    assert_true(eglReleaseThread());
    egl_host_make_current(&host);
    egl_host_render(&host);
}

// The last test: the display is gone for all afterwards.
TEST(a_display_that_is_terminated_is_an_error)
{
    struct tiny_model f = {0};
    const struct glinfer_host_gl gl = give_display();
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_PREDICT, NULL);
    load(&f, &gl);
    struct glinfer_session *session = open_session(&f, 4, 64, 0);
    egl_host_close(&host);
    assert_true(eglTerminate(host.display));
    must_fail(glinfer_generate(session, &params, NULL, &err), DRIVER,
              "has terminated the EGL display");
    must_fail(glinfer_device_recover(f.device, NULL, NULL, &err), NO_DEVICE, "not initialised");
    assert_true(egl_host_open(&host));
    must_do(glinfer_device_recover(f.device, NULL, NULL, &err));
    answer(session);
    egl_host_close(&host);
    assert_true(eglTerminate(host.display));
    glinfer_session_destroy(&session);
    tiny_model_close(&f);
    assert_true(eglReleaseThread());
    assert_true(egl_host_open(&host));
    egl_host_render(&host);
}

int main(void)
{
    if (!egl_host_open(&host)) {
        printf("skipped: there is no surfaceless display\n");
        return SKIPPED;
    }
    return run_listed(open_host_group, close_host_group, NULL, NULL);
}
