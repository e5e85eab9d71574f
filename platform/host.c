#include "platform/host.h"

#include <stdio.h>

//-- open ----------------------------------------------------------------------------------------

static bool check_fields(const struct glinfer_host_gl *gl, struct glinfer_error *err)
{
    const char *wrong = NULL;
    if (!gl->display) {
        wrong = "display is NULL";
    } else if (gl->context && gl->share_context) {
        wrong = "context and share_context are both set";
    } else if (!gl->make_current != !gl->release_current) {
        wrong = "make_current and release_current come together";
    } else if (gl->make_current && !gl->context) {
        wrong = "make_current is set without a context";
    }
    return !wrong || gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "the host's GL: %s", wrong);
}

// Returns true if the host asked for a display that counts who has initialised it.
static bool is_tracked(EGLDisplay display)
{
    PFNEGLQUERYDISPLAYATTRIBKHRPROC query =
        (PFNEGLQUERYDISPLAYATTRIBKHRPROC)eglGetProcAddress("eglQueryDisplayAttribKHR");
    EGLAttrib value = EGL_FALSE;
    if (!gi_egl_has(eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS), "EGL_KHR_display_reference") ||
        !query || !query(display, EGL_TRACK_REFERENCES_KHR, &value)) {
        eglGetError();
        return false;
    }
    return value == EGL_TRUE;
}

// Counts our use of the display where it counts uses, so that it lasts at least as long.
static bool open_display(struct gi_egl_display *display, EGLDisplay egl, struct glinfer_error *err)
{
    const char *version = eglQueryString(egl, EGL_VERSION);
    if (!version || sscanf(version, "%d.%d", &display->major, &display->minor) != 2) {
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                            "the host's display is not initialised (eglQueryString: %s)",
                            gi_egl_error_name(eglGetError()));
    }
    display->egl = egl;
    display->can_terminate = is_tracked(egl) && eglInitialize(egl, NULL, NULL);
    gi_egl_note_display();
    return true;
}

bool gi_host_open(struct gi_host *host, struct gi_egl_display *display,
                  const struct glinfer_host_gl *gl, struct glinfer_error *err)
{
    host->gl = *gl;
    host->has_context = gl->context;
    return check_fields(gl, err) && open_display(display, gl->display, err);
}

//-- enter ---------------------------------------------------------------------------------------

static bool make_current(const struct gi_host *host, struct glinfer_error *err)
{
    const struct glinfer_host_gl *gl = &host->gl;
    if (host->is_gone) {
        return gi_error_set(err, GLINFER_STATUS_GPU_LOST,
                            "the host has given another context: glinfer_device_recover goes on "
                            "with it");
    }
    if (gl->make_current && !gl->make_current(gl->user)) {
        return gi_error_set(err, GLINFER_STATUS_DRIVER, "the host's make_current failed");
    }
    if (eglGetCurrentContext() == gl->context) {
        return true;
    }
    if (!gl->make_current) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the host's context is not current in this thread, and the device has "
                            "no make_current");
    }
    gl->release_current(gl->user);
    return gi_error_set(err, GLINFER_STATUS_DRIVER,
                        "the host's make_current did not make its context current");
}

bool gi_host_enter(struct gi_host *host, struct glinfer_error *err)
{
    if (host->depth == 0) {
        if (!make_current(host, err)) {
            return false;
        }
        gi_gl_state_save(&host->state);
    } else if (eglGetCurrentContext() != host->gl.context) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a callback has made another context current");
    }
    host->depth++;
    return true;
}

void gi_host_leave(struct gi_host *host)
{
    if (--host->depth > 0) {
        return;
    }
    gi_gl_state_restore(&host->state);
    if (host->gl.release_current) {
        host->gl.release_current(host->gl.user);
    }
}
