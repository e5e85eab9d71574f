// Shared by the files of this folder: a display of EGL with what it stands on, the context on it,
// extension lookup and the names of EGL's errors, and the interface that a backend implements.
// Private to platform/. A refusal is a sentence in NO_DEVICE that does not repeat the device's
// name.
#pragma once

#ifndef EGL_NO_X11
#define EGL_NO_X11
#endif
#ifndef MESA_EGL_NO_X11_HEADERS
#define MESA_EGL_NO_X11_HEADERS
#endif

#include "platform/platform.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>

// Returns true if a list separated by spaces holds the whole word; false for a NULL list.
bool gi_egl_has(const char *list, const char *name);
// Returns "EGL_BAD_MATCH" and the like; "an unknown EGL error" for any other number.
const char *gi_egl_error_name(EGLint code);
// Checks that libEGL lists one of two client extensions (other may be NULL). Fails with NO_DEVICE.
bool gi_egl_require(const char *name, const char *other, struct glinfer_error *err);

//-- display -----------------------------------------------------------------------------------

struct gbm_device;

struct gi_egl_display {
    EGLDisplay egl;
    int major, minor;
    bool can_terminate;     // nobody else's use of the display ends with eglTerminate
    struct gbm_device *gbm; // owned; only GBM has these two
    int fd;                 // valid where gbm is not NULL
};

// Gets and initialises the display of a platform. is_private says that nobody else can have the
// same native display: then it is ours to terminate, and must be before native is freed, since EGL
// finds a display again by that address. Else it is asked for with tracked references
// (EGL_KHR_display_reference), so that eglTerminate only undoes our own eglInitialize. A driver
// without them shares the display with whoever asks for it, and it is left initialised to the end
// of the process: one display, however often it is opened. Fails with NO_DEVICE.
bool gi_egl_display_init(struct gi_egl_display *display, EGLenum platform, void *native,
                         bool is_private, struct glinfer_error *err);
// Notes that this process uses a display, until gi_egl_display_finish terminates it.
void gi_egl_note_display(void);
// Checks that no process that this one was forked from left it a display. Fails with NO_DEVICE.
bool gi_egl_check_process(struct glinfer_error *err);
// Accepts all-zero; leaves gbm and fd alone.
void gi_egl_display_finish(struct gi_egl_display *display);

//-- context -----------------------------------------------------------------------------------

struct gi_egl_context_features {
    bool is_robust; // a reset is reported and loses the context
    bool is_debug;
    bool is_low_priority;
    bool is_released_at_once; // without a flush, which waits for the GPU on NVIDIA
};

// Creates a GLES context without surface or config, 3.2 or else 3.1, that shares objects with share
// (EGL_NO_CONTEXT: with none), with as many of the wanted features as the driver takes, and sets
// *got to those. A driver without 3.1 gives its 3.0 or 2.0 context: the caller reads the version.
// The bound API must be EGL_OPENGL_ES_API. Returns EGL_NO_CONTEXT with NO_DEVICE.
EGLContext gi_egl_context_create(const struct gi_egl_display *display, EGLContext share,
                                 const struct gi_egl_context_features *wanted,
                                 struct gi_egl_context_features *got, struct glinfer_error *err);

//-- backend -----------------------------------------------------------------------------------

struct gi_backend {
    const char *name; // the part of a device name before the colon
    // Fills at most cap full device names and returns their number; 0 fails with NO_DEVICE.
    size_t (*list)(struct gi_platform_candidate *out, size_t cap, struct glinfer_error *err);
    // Opens the display of the part after the colon, which may be "". *display is all-zero; on
    // failure the caller closes it. Fails with NO_DEVICE, INVALID_ARGUMENT.
    bool (*open)(struct gi_egl_display *display, const char *device, struct glinfer_error *err);
    // Accepts all-zero and what a failed open left.
    void (*close)(struct gi_egl_display *display);
};

extern const struct gi_backend gi_backend_gbm;
extern const struct gi_backend gi_backend_device;
extern const struct gi_backend gi_backend_surfaceless;
