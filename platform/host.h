// The EGL of a host program: its display with a context of our own, or its own context. Nothing of
// it is ended here. Private to platform/.
#pragma once

#include "platform/egl_util.h"
#include "platform/gl_state.h"

struct gi_host {
    struct glinfer_host_gl gl;
    bool has_context; // the device runs on the host's context
    bool is_gone;     // the host has given another context in its place
    uint32_t depth;   // of entering
    struct gi_gl_state state;
};

// Checks what the host gives and opens its display. Fails with INVALID_ARGUMENT (fields that do not
// go together), NO_DEVICE (the display is not initialised).
bool gi_host_open(struct gi_host *host, struct gi_egl_display *display,
                  const struct glinfer_host_gl *gl, struct glinfer_error *err);
// Makes the host's context current through its callback and saves its state; calls nest. The bound
// API is EGL_OPENGL_ES_API. Fails with INVALID_ARGUMENT (not current, and make_current is NULL),
// DRIVER (make_current failed, or did not make it current), GPU_LOST (is_gone).
bool gi_host_enter(struct gi_host *host, struct glinfer_error *err);
// Undoes a gi_host_enter that succeeded, the outermost with the state and release_current.
void gi_host_leave(struct gi_host *host);
