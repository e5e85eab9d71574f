// A host program that draws by OpenGL ES 3.1 of its own, with odd state and a pending error, and
// sees whether somebody has touched any of it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <EGL/egl.h>
#include <GLES3/gl31.h>

enum { HOST_BUFFERS = 8, HOST_VALUES = 256 };

struct egl_host {
    EGLDisplay display;
    EGLContext context;
    EGLSurface front, read;
    GLuint buffers[HOST_BUFFERS], textures[2], program, array, framebuffer;
    uint32_t n_frames;
};

// Everything that a program can have bound, as far as compute work might come near it.
struct host_state {
    EGLDisplay display;
    EGLContext context;
    EGLSurface front, read;
    EGLenum api;
    int64_t values[HOST_VALUES];
    uint32_t n_values;
};

// Opens Mesa's surfaceless display with a context that is current, and sets odd state. False where
// there is none.
bool egl_host_open(struct egl_host *host);
// Opens the display alone.
bool egl_host_find(struct egl_host *host);
// Ends the context and leaves the display.
void egl_host_close(struct egl_host *host);
// Makes a context with its objects and state on the display, and makes it current.
void egl_host_start(struct egl_host *host);
void egl_host_make_current(const struct egl_host *host);
// Draws a frame of another colour than the last one, and expects it.
void egl_host_render(struct egl_host *host);
// Saves the state, then raises the error with this number.
void egl_host_remember(struct host_state *state, uint32_t error);
// Expects the error, and the same state.
void egl_host_expect(const struct host_state *state, uint32_t error);
