#include "tests/embed/egl_host.h"

#include "tests/unit/cmocka_test.h"

#include <string.h>

#include <EGL/eglext.h>

enum { WIDTH = 16 };

static const char *const vertex_text =
    "#version 310 es\n"
    "void main()\n"
    "{\n"
    "    gl_Position = vec4(float(gl_VertexID & 1) * 4.0 - 1.0, float(gl_VertexID & 2) * 2.0 - 1.0,"
    " 0.0, 1.0);\n"
    "}\n";
static const char *const fragment_text = "#version 310 es\n"
                                         "precision highp float;\n"
                                         "layout(std140, binding = 1) uniform Colour\n"
                                         "{\n"
                                         "    vec4 colour;\n"
                                         "};\n"
                                         "out vec4 result;\n"
                                         "void main()\n"
                                         "{\n"
                                         "    result = colour;\n"
                                         "}\n";

//-- life ------------------------------------------------------------------------------------------

static GLuint compile(GLenum kind, const char *text)
{
    GLint is_compiled = 0;
    const GLuint shader = glCreateShader(kind);
    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &is_compiled);
    assert_true(is_compiled);
    return shader;
}

static void make_program(struct egl_host *host)
{
    GLint is_linked = 0;
    const GLuint vertex = compile(GL_VERTEX_SHADER, vertex_text);
    const GLuint fragment = compile(GL_FRAGMENT_SHADER, fragment_text);
    host->program = glCreateProgram();
    glAttachShader(host->program, vertex);
    glAttachShader(host->program, fragment);
    glLinkProgram(host->program);
    glDeleteShader(vertex);
    glDeleteShader(fragment);
    glGetProgramiv(host->program, GL_LINK_STATUS, &is_linked);
    assert_true(is_linked);
    glUseProgram(host->program);
}

static void make_buffers(struct egl_host *host)
{
    static const uint8_t zeros[4096];
    glGenBuffers(HOST_BUFFERS, host->buffers);
    for (int i = 0; i < HOST_BUFFERS; i++) {
        glBindBuffer(GL_ARRAY_BUFFER, host->buffers[i]);
        glBufferData(GL_ARRAY_BUFFER, sizeof(zeros), zeros, GL_DYNAMIC_READ);
    }
    glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, host->buffers[0], 1024, 512);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 2, host->buffers[1]);
    glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 3, host->buffers[2], 0, 256);
    glBindBuffer(GL_SHADER_STORAGE_BUFFER, host->buffers[3]);
    glBindBufferRange(GL_UNIFORM_BUFFER, 0, host->buffers[2], 256, 256);
    glBindBufferBase(GL_UNIFORM_BUFFER, 1, host->buffers[4]);
    glBindBuffer(GL_UNIFORM_BUFFER, host->buffers[5]);
    glBindBufferRange(GL_ATOMIC_COUNTER_BUFFER, 0, host->buffers[6], 64, 64);
    glBindBuffer(GL_COPY_READ_BUFFER, host->buffers[6]);
    glBindBuffer(GL_COPY_WRITE_BUFFER, host->buffers[7]);
    glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, host->buffers[7]);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, host->buffers[1]);
}

static void make_textures(struct egl_host *host)
{
    glGenTextures(2, host->textures);
    glActiveTexture(GL_TEXTURE0);
    glBindTexture(GL_TEXTURE_2D, host->textures[0]);
    glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, WIDTH, WIDTH);
    glActiveTexture(GL_TEXTURE3);
    glBindTexture(GL_TEXTURE_2D, host->textures[1]);
    glActiveTexture(GL_TEXTURE5);
    glGenFramebuffers(1, &host->framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, host->framebuffer);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, host->textures[0],
                           0);
    assert_int_equal(glCheckFramebufferStatus(GL_FRAMEBUFFER), GL_FRAMEBUFFER_COMPLETE);
}

void egl_host_make_current(const struct egl_host *host)
{
    assert_true(eglMakeCurrent(host->display, host->front, host->read, host->context));
}

void egl_host_start(struct egl_host *host)
{
    const EGLint size[] = {EGL_WIDTH, WIDTH, EGL_HEIGHT, WIDTH, EGL_NONE};
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
                             EGL_OPENGL_ES3_BIT, EGL_NONE};
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 1, EGL_NONE};
    EGLConfig config = NULL;
    EGLint n = 0;
    assert_true(eglBindAPI(EGL_OPENGL_ES_API));
    assert_true(eglChooseConfig(host->display, wanted, &config, 1, &n) && n == 1);
    host->front = eglCreatePbufferSurface(host->display, config, size);
    host->read = eglCreatePbufferSurface(host->display, config, size);
    host->context = eglCreateContext(host->display, config, EGL_NO_CONTEXT, version);
    assert_ptr_not_equal(host->context, EGL_NO_CONTEXT);
    egl_host_make_current(host);
    glGenVertexArrays(1, &host->array);
    glBindVertexArray(host->array);
    make_program(host);
    make_buffers(host);
    make_textures(host);
    glPixelStorei(GL_PACK_ALIGNMENT, 2);
    glPixelStorei(GL_UNPACK_ROW_LENGTH, 7);
    glViewport(0, 0, WIDTH, WIDTH);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ZERO);
    assert_int_equal(glGetError(), GL_NO_ERROR);
}

bool egl_host_find(struct egl_host *host)
{
    PFNEGLGETPLATFORMDISPLAYEXTPROC get =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    *host = (struct egl_host){0};
    host->display = get ? get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL) : EGL_NO_DISPLAY;
    return host->display != EGL_NO_DISPLAY && eglInitialize(host->display, NULL, NULL);
}

bool egl_host_open(struct egl_host *host)
{
    const bool is_found = egl_host_find(host);
    if (is_found) {
        egl_host_start(host);
    }
    return is_found;
}

void egl_host_close(struct egl_host *host)
{
    eglMakeCurrent(host->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(host->display, host->context);
    eglDestroySurface(host->display, host->front);
    eglDestroySurface(host->display, host->read);
}

void egl_host_render(struct egl_host *host)
{
    const float part = (float)(host->n_frames++ % 5) / 5.0F;
    const float colour[4] = {part, 1.0F - part, 0.0F, 1.0F};
    uint8_t pixel[4] = {0};
    glBindBuffer(GL_ARRAY_BUFFER, host->buffers[4]);
    glBufferSubData(GL_ARRAY_BUFFER, 0, sizeof(colour), colour);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glReadPixels(WIDTH / 2, WIDTH / 2, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
    assert_int_equal(glGetError(), GL_NO_ERROR);
    assert_in_range(pixel[0], (int)(part * 255) - 0, (int)(part * 255) + 1);
    assert_in_range(pixel[1], (int)((1.0F - part) * 255) - 0, (int)((1.0F - part) * 255) + 1);
}

//-- state -----------------------------------------------------------------------------------------

static const GLenum values[] = {
    GL_CURRENT_PROGRAM,
    GL_PROGRAM_PIPELINE_BINDING,
    GL_VERTEX_ARRAY_BINDING,
    GL_ARRAY_BUFFER_BINDING,
    GL_ELEMENT_ARRAY_BUFFER_BINDING,
    GL_SHADER_STORAGE_BUFFER_BINDING,
    GL_UNIFORM_BUFFER_BINDING,
    GL_ATOMIC_COUNTER_BUFFER_BINDING,
    GL_DISPATCH_INDIRECT_BUFFER_BINDING,
    GL_COPY_READ_BUFFER_BINDING,
    GL_COPY_WRITE_BUFFER_BINDING,
    GL_PIXEL_PACK_BUFFER_BINDING,
    GL_PIXEL_UNPACK_BUFFER_BINDING,
    GL_TRANSFORM_FEEDBACK_BUFFER_BINDING,
    GL_TRANSFORM_FEEDBACK_BINDING,
    GL_TRANSFORM_FEEDBACK_ACTIVE,
    GL_TRANSFORM_FEEDBACK_PAUSED,
    GL_FRAMEBUFFER_BINDING,
    GL_READ_FRAMEBUFFER_BINDING,
    GL_RENDERBUFFER_BINDING,
    GL_ACTIVE_TEXTURE,
    GL_PACK_ALIGNMENT,
    GL_PACK_ROW_LENGTH,
    GL_UNPACK_ALIGNMENT,
    GL_UNPACK_ROW_LENGTH,
    GL_BLEND,
    GL_BLEND_SRC_RGB,
    GL_DEPTH_TEST,
    GL_SCISSOR_TEST,
    GL_CULL_FACE,
    GL_RASTERIZER_DISCARD,
    GL_PRIMITIVE_RESTART_FIXED_INDEX,
};

static const GLenum units[] = {
    GL_TEXTURE_BINDING_2D,       GL_TEXTURE_BINDING_2D_ARRAY, GL_TEXTURE_BINDING_3D,
    GL_TEXTURE_BINDING_CUBE_MAP, GL_SAMPLER_BINDING,
};

static const struct {
    GLenum name, start, size;
    GLuint n;
} indexed[] = {
    {GL_SHADER_STORAGE_BUFFER_BINDING, GL_SHADER_STORAGE_BUFFER_START,
     GL_SHADER_STORAGE_BUFFER_SIZE, 8},
    {GL_UNIFORM_BUFFER_BINDING, GL_UNIFORM_BUFFER_START, GL_UNIFORM_BUFFER_SIZE, 6},
    {GL_ATOMIC_COUNTER_BUFFER_BINDING, GL_ATOMIC_COUNTER_BUFFER_START,
     GL_ATOMIC_COUNTER_BUFFER_SIZE, 1},
};

static void add_value(struct host_state *state, int64_t value)
{
    assert_true(state->n_values < HOST_VALUES);
    state->values[state->n_values++] = value;
}

static void add_integer(struct host_state *state, GLenum name)
{
    GLint value = 0;
    glGetIntegerv(name, &value);
    add_value(state, value);
}

static void add_units(struct host_state *state)
{
    GLint active = 0;
    glGetIntegerv(GL_ACTIVE_TEXTURE, &active);
    for (GLuint i = 0; i < 8; i++) {
        glActiveTexture(GL_TEXTURE0 + i);
        for (size_t j = 0; j < sizeof(units) / sizeof(units[0]); j++) {
            add_integer(state, units[j]);
        }
    }
    glActiveTexture((GLenum)active);
}

static void add_indexed(struct host_state *state)
{
    for (size_t i = 0; i < sizeof(indexed) / sizeof(indexed[0]); i++) {
        for (GLuint j = 0; j < indexed[i].n; j++) {
            GLint name = 0;
            GLint64 start = 0, size = 0;
            glGetIntegeri_v(indexed[i].name, j, &name);
            glGetInteger64i_v(indexed[i].start, j, &start);
            glGetInteger64i_v(indexed[i].size, j, &size);
            add_value(state, name);
            add_value(state, start);
            add_value(state, size);
        }
    }
}

static void read_state(struct host_state *state)
{
    memset(state, 0, sizeof(*state)); // compared as bytes
    state->display = eglGetCurrentDisplay();
    state->context = eglGetCurrentContext();
    state->front = eglGetCurrentSurface(EGL_DRAW);
    state->read = eglGetCurrentSurface(EGL_READ);
    state->api = eglQueryAPI();
    if (state->context == EGL_NO_CONTEXT) {
        return;
    }
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        add_integer(state, values[i]);
    }
    add_units(state);
    add_indexed(state);
    assert_int_equal(glGetError(), GL_NO_ERROR);
}

static void raise_some(uint32_t which)
{
    if (which % 4 == 0) {
        glEnable(GL_TEXTURE_2D);
    } else if (which % 4 == 1) {
        glLineWidth(-1.0F);
    } else if (which % 4 == 2) {
        glUniform4f(77, 0, 0, 0, 0);
    }
}

void egl_host_remember(struct host_state *state, uint32_t error)
{
    read_state(state);
    raise_some(error);
}

void egl_host_expect(const struct host_state *state, uint32_t error)
{
    static const GLenum expected[] = {GL_INVALID_ENUM, GL_INVALID_VALUE, GL_INVALID_OPERATION,
                                      GL_NO_ERROR};
    struct host_state now;
    if (state->context != EGL_NO_CONTEXT) {
        assert_int_equal(glGetError(), expected[error % 4]);
    }
    read_state(&now);
    assert_memory_equal(state, &now, sizeof(now));
}
