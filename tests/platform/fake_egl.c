#define _FILE_OFFSET_BITS 64 // as the code that it wraps, whose calls end in 64

#include "fake_egl.h"

#include "tests/unit/wrap.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <EGL/eglext.h>
#include <GLES3/gl31.h>

struct fake_egl fake_egl;

static EGLint pending_error;

__eglMustCastToProperFunctionPointerType __real_eglGetProcAddress(const char *name);

__eglMustCastToProperFunctionPointerType __wrap_eglGetProcAddress(const char *name);

WRAP(EGLBoolean, eglInitialize, EGLDisplay display, EGLint *major, EGLint *minor)
{
    if (fake_egl.is_dead) {
        pending_error = EGL_NOT_INITIALIZED;
        return EGL_FALSE;
    }
    EGLBoolean is_good = __real_eglInitialize(display, major, minor);
    if (is_good && fake_egl.is_display_1_4) {
        *minor = 4;
    }
    return is_good;
}

WRAP(EGLBoolean, eglTerminate, EGLDisplay display)
{
    fake_egl.n_terminates++;
    return fake_egl.n_tracked > 0 ? EGL_TRUE : __real_eglTerminate(display);
}

WRAP(EGLBoolean, eglMakeCurrent, EGLDisplay display, EGLSurface draw, EGLSurface read,
     EGLContext context)
{
    if (context != EGL_NO_CONTEXT && fake_egl.no_current != 0) {
        pending_error = fake_egl.no_current;
        return EGL_FALSE;
    }
    return __real_eglMakeCurrent(display, draw, read, context);
}

static bool is_refused(const EGLint *attribs)
{
    for (; attribs != NULL && attribs[0] != EGL_NONE; attribs += 2) {
        for (size_t i = 0; i < 3; i++) {
            if (fake_egl.refused[i] != 0 && attribs[0] == fake_egl.refused[i]) {
                return true;
            }
        }
        if (fake_egl.newest_minor != 0 && attribs[0] == EGL_CONTEXT_MINOR_VERSION &&
            attribs[1] > fake_egl.newest_minor) {
            return true;
        }
    }
    return false;
}

WRAP(EGLContext, eglCreateContext, EGLDisplay display, EGLConfig config, EGLContext share,
     const EGLint *attribs)
{
    if (is_refused(attribs)) {
        pending_error = EGL_BAD_ATTRIBUTE;
        return EGL_NO_CONTEXT;
    }
    return __real_eglCreateContext(display, config, share, attribs);
}

WRAP(EGLint, eglGetError, void)
{
    EGLint code = pending_error != 0 ? pending_error : __real_eglGetError();
    pending_error = 0;
    return code;
}

static bool is_hidden(const char *word, size_t size)
{
    for (size_t i = 0; i < 4; i++) {
        const char *hidden = fake_egl.hidden[i];
        if (hidden != NULL && strlen(hidden) == size && memcmp(hidden, word, size) == 0) {
            return true;
        }
    }
    return false;
}

static const char *edit_list(const char *list)
{
    static char edited[8192];
    size_t n = 0;
    for (size_t size; *list != '\0'; list += size + strspn(list + size, " ")) {
        size = strcspn(list, " ");
        if (!is_hidden(list, size) && n + size + 2 < sizeof(edited)) {
            memcpy(edited + n, list, size);
            n += size;
            edited[n++] = ' ';
        }
    }
    snprintf(edited + n, sizeof(edited) - n, "%s", fake_egl.shown != NULL ? fake_egl.shown : "");
    return edited;
}

WRAP(const char *, eglQueryString, EGLDisplay display, EGLint name)
{
    if (fake_egl.is_client_1_4 && display == EGL_NO_DISPLAY && name == EGL_VERSION) {
        pending_error = EGL_BAD_DISPLAY;
        return NULL;
    }
    const char *text = __real_eglQueryString(display, name);
    return text != NULL && name == EGL_EXTENSIONS ? edit_list(text) : text;
}

// A driver with EGL_KHR_display_reference, as far as the layer can see: the attribute is counted
// and taken away, and eglTerminate, whose reference is never the last, does nothing.
static EGLDisplay get_tracked(EGLenum platform, void *native, const EGLAttrib *attribs)
{
    PFNEGLGETPLATFORMDISPLAYPROC get =
        (PFNEGLGETPLATFORMDISPLAYPROC)__real_eglGetProcAddress("eglGetPlatformDisplay");
    fake_egl.n_tracked += attribs != NULL && attribs[0] == EGL_TRACK_REFERENCES_KHR;
    return get(platform, native, NULL);
}

static EGLDisplay get_tracked_ext(EGLenum platform, void *native, const EGLint *attribs)
{
    PFNEGLGETPLATFORMDISPLAYEXTPROC get =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)__real_eglGetProcAddress("eglGetPlatformDisplayEXT");
    fake_egl.n_tracked += attribs != NULL && attribs[0] == EGL_TRACK_REFERENCES_KHR;
    return get(platform, native, NULL);
}

static GLenum GL_APIENTRY get_reset_status(void)
{
    return fake_egl.reset_status;
}

__eglMustCastToProperFunctionPointerType __wrap_eglGetProcAddress(const char *name)
{
    if (fake_egl.reset_status != 0 && strncmp(name, "glGetGraphicsResetStatus", 24) == 0) {
        return (__eglMustCastToProperFunctionPointerType)get_reset_status;
    }
    if (fake_egl.shown != NULL && strcmp(name, "eglGetPlatformDisplay") == 0) {
        return (__eglMustCastToProperFunctionPointerType)get_tracked;
    }
    if (fake_egl.shown != NULL && strcmp(name, "eglGetPlatformDisplayEXT") == 0) {
        return (__eglMustCastToProperFunctionPointerType)get_tracked_ext;
    }
    return __real_eglGetProcAddress(name);
}

//-- the disk --------------------------------------------------------------------------------------

WRAP(int, posix_fallocate64, int fd, off_t offset, off_t size)
{
    return fake_egl.reserve_error ? fake_egl.reserve_error
                                  : __real_posix_fallocate64(fd, offset, size);
}

WRAP(int, statvfs64, const char *path, struct statvfs *info)
{
    const int result = __real_statvfs64(path, info);
    info->f_bavail = fake_egl.is_disk_full ? 0 : info->f_bavail;
    return result;
}
