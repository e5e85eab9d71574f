// The sign: a picture that moves, with text on it, rendered into a texture, and from there onto a
// screen if there is one. It
// owns an EGL display and a context of OpenGL ES 3.0, and leaves the context current in the thread
// that opened it; all functions are called by that thread.
#pragma once

#include "screen.h"

#include <stdbool.h>
#include <stdint.h>

#include <EGL/egl.h>
#include <GLES3/gl3.h>

enum { SIGN_WIDTH = 480, SIGN_HEIGHT = 270 };

struct sign {
    EGLDisplay display;
    EGLContext context;
    EGLSurface surface; // the screen's; without one of one pixel, for EGL that wants one
    GLuint texture, framebuffer, program, atlas, buffer, array;
    GLsync fence; // of the last sign_render
};

// Opens the screen's device or, with NULL, the first of EGL's devices that renders, or else Mesa's
// surfaceless platform. The screen outlives the sign. Returns NULL, or what failed; sign_close is
// called in either case.
const char *sign_open(struct sign *sign, const struct screen *screen);
// Submits the picture at a time in seconds; title and text are shown in capitals, of the text as
// many of its last lines as there is room for.
void sign_render(struct sign *sign, double time, const char *title, const char *text);
// Waits until the GPU has rendered what was submitted.
void sign_wait(struct sign *sign);
// Shows what was rendered on the screen, unless that still waits for the one before. Returns NULL,
// or what failed.
const char *sign_show(struct sign *sign, struct screen *screen);
// Reads the picture back: (SIGN_HEIGHT, SIGN_WIDTH, 4) bytes, the lowest row first.
void sign_read(struct sign *sign, uint8_t *rgba);
void sign_close(struct sign *sign);
