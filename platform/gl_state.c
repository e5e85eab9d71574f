#include "platform/gl_state.h"

#include <GLES3/gl31.h>

// Names of OpenGL ES 3.2 and of extensions.
#define BUFFER_TEXTURE         0x8C2A // GL_TEXTURE_BUFFER
#define BUFFER_TEXTURE_BINDING 0x8C2C // GL_TEXTURE_BINDING_BUFFER
#define DEBUG_OUTPUT           0x92E0 // GL_DEBUG_OUTPUT

static int32_t get(GLenum name)
{
    GLint value = 0;
    glGetIntegerv(name, &value);
    return value;
}

// A lost context may answer with an error for ever.
static void drop_errors(void)
{
    for (int i = 0; i < 2 * GI_MAX_ERRORS && glGetError() != GL_NO_ERROR; i++) {
    }
}

//-- save ----------------------------------------------------------------------------------------

static struct gi_gl_binding get_binding(GLenum name, GLenum offset, GLenum size, GLuint index)
{
    struct gi_gl_binding binding = {0};
    GLint buffer = 0;
    GLint64 value = 0;
    glGetIntegeri_v(name, index, &buffer);
    binding.name = buffer;
    glGetInteger64i_v(offset, index, &value);
    binding.offset = value;
    value = 0;
    glGetInteger64i_v(size, index, &value);
    binding.size = value;
    return binding;
}

static void save_buffers(struct gi_gl_state *state)
{
    const int32_t n_storage = get(GL_MAX_SHADER_STORAGE_BUFFER_BINDINGS);
    state->n_storage =
        n_storage < GI_MAX_SAVED_STORAGE ? (uint32_t)n_storage : GI_MAX_SAVED_STORAGE;
    state->storage_buffer = get(GL_SHADER_STORAGE_BUFFER_BINDING);
    state->uniform_buffer = get(GL_UNIFORM_BUFFER_BINDING);
    state->counter_buffer = get(GL_ATOMIC_COUNTER_BUFFER_BINDING);
    state->indirect_buffer = get(GL_DISPATCH_INDIRECT_BUFFER_BINDING);
    state->copy_read = get(GL_COPY_READ_BUFFER_BINDING);
    state->copy_write = get(GL_COPY_WRITE_BUFFER_BINDING);
    for (uint32_t i = 0; i < state->n_storage; i++) {
        state->storage[i] =
            get_binding(GL_SHADER_STORAGE_BUFFER_BINDING, GL_SHADER_STORAGE_BUFFER_START,
                        GL_SHADER_STORAGE_BUFFER_SIZE, i);
    }
    for (uint32_t i = 0; i < GI_SAVED_UNIFORMS; i++) {
        state->uniforms[i] = get_binding(GL_UNIFORM_BUFFER_BINDING, GL_UNIFORM_BUFFER_START,
                                         GL_UNIFORM_BUFFER_SIZE, i);
    }
    state->counter = get_binding(GL_ATOMIC_COUNTER_BUFFER_BINDING, GL_ATOMIC_COUNTER_BUFFER_START,
                                 GL_ATOMIC_COUNTER_BUFFER_SIZE, 0);
}

static void save_textures(struct gi_gl_state *state)
{
    state->active_texture = get(GL_ACTIVE_TEXTURE);
    for (uint32_t i = 0; i < GI_SAVED_TEXTURES; i++) {
        glActiveTexture(GL_TEXTURE0 + i);
        state->textures[i] = get(BUFFER_TEXTURE_BINDING);
    }
    glActiveTexture((GLenum)state->active_texture);
}

// Programs cannot be changed under transform feedback that is active and not paused.
static bool pause_feedback(void)
{
    const bool is_active = get(GL_TRANSFORM_FEEDBACK_ACTIVE) && !get(GL_TRANSFORM_FEEDBACK_PAUSED);
    if (is_active) {
        glPauseTransformFeedback();
    }
    return is_active;
}

void gi_gl_state_save(struct gi_gl_state *state)
{
    *state = (struct gi_gl_state){0};
    for (GLenum error; state->n_errors < GI_MAX_ERRORS && (error = glGetError()) != GL_NO_ERROR;) {
        state->errors[state->n_errors++] = error;
    }
    state->is_debugging = glIsEnabled(DEBUG_OUTPUT);
    state->program = get(GL_CURRENT_PROGRAM);
    state->is_feeding_back = pause_feedback();
    save_buffers(state);
    save_textures(state);
    drop_errors(); // of what this version of OpenGL ES does not know
}

//-- restore -------------------------------------------------------------------------------------

static void bind_buffer(GLenum target, GLuint index, const struct gi_gl_binding *binding)
{
    if (binding->size > 0) {
        glBindBufferRange(target, index, (GLuint)binding->name, (GLintptr)binding->offset,
                          (GLsizeiptr)binding->size);
    } else {
        glBindBufferBase(target, index, (GLuint)binding->name);
    }
}

static void restore_buffers(const struct gi_gl_state *state)
{
    for (uint32_t i = 0; i < state->n_storage; i++) {
        bind_buffer(GL_SHADER_STORAGE_BUFFER, i, &state->storage[i]);
    }
    for (uint32_t i = 0; i < GI_SAVED_UNIFORMS; i++) {
        bind_buffer(GL_UNIFORM_BUFFER, i, &state->uniforms[i]);
    }
    bind_buffer(GL_ATOMIC_COUNTER_BUFFER, 0, &state->counter);
    glBindBuffer(GL_SHADER_STORAGE_BUFFER, (GLuint)state->storage_buffer);
    glBindBuffer(GL_UNIFORM_BUFFER, (GLuint)state->uniform_buffer);
    glBindBuffer(GL_ATOMIC_COUNTER_BUFFER, (GLuint)state->counter_buffer);
    glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, (GLuint)state->indirect_buffer);
    glBindBuffer(GL_COPY_READ_BUFFER, (GLuint)state->copy_read);
    glBindBuffer(GL_COPY_WRITE_BUFFER, (GLuint)state->copy_write);
}

static void restore_textures(const struct gi_gl_state *state)
{
    for (uint32_t i = 0; i < GI_SAVED_TEXTURES; i++) {
        glActiveTexture(GL_TEXTURE0 + i);
        glBindTexture(BUFFER_TEXTURE, (GLuint)state->textures[i]);
    }
    glActiveTexture((GLenum)state->active_texture);
}

// Clears a framebuffer that has nothing to clear.
static void raise_framebuffer_error(void)
{
    const GLuint bound = (GLuint)get(GL_FRAMEBUFFER_BINDING);
    const GLuint bound_to_read = (GLuint)get(GL_READ_FRAMEBUFFER_BINDING);
    GLuint empty = 0;
    glGenFramebuffers(1, &empty);
    glBindFramebuffer(GL_FRAMEBUFFER, empty);
    glClear(GL_COLOR_BUFFER_BIT);
    glBindFramebuffer(GL_FRAMEBUFFER, bound);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, bound_to_read);
    glDeleteFramebuffers(1, &empty);
}

// Calls something that does nothing but raise the error.
static void raise_error(GLenum error)
{
    switch (error) {
    case GL_INVALID_ENUM:
        glEnable(GL_NONE);
        break;
    case GL_INVALID_VALUE:
        glViewport(0, 0, -1, -1);
        break;
    case GL_INVALID_OPERATION:
        glBindBuffer(GL_COPY_READ_BUFFER, 0);
        glUnmapBuffer(GL_COPY_READ_BUFFER);
        break;
    case GL_INVALID_FRAMEBUFFER_OPERATION:
        raise_framebuffer_error();
        break;
    default:
        break;
    }
}

static void raise_errors(const struct gi_gl_state *state)
{
    if (state->is_debugging) {
        glDisable(DEBUG_OUTPUT);
    }
    for (uint32_t i = 0; i < state->n_errors; i++) {
        raise_error(state->errors[i]);
    }
    if (state->is_debugging) {
        glEnable(DEBUG_OUTPUT);
    }
}

void gi_gl_state_restore(const struct gi_gl_state *state)
{
    restore_textures(state);
    glUseProgram((GLuint)state->program);
    if (state->is_feeding_back) {
        glResumeTransformFeedback();
    }
    restore_buffers(state);
    drop_errors();
    raise_errors(state);
    glBindBuffer(GL_COPY_READ_BUFFER, (GLuint)state->copy_read);
}
