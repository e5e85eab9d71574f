#include "platform/context_info.h"

#include <stdio.h>
#include <string.h>

#include <GLES3/gl31.h>

#ifndef GL_RESET_NOTIFICATION_STRATEGY
#define GL_RESET_NOTIFICATION_STRATEGY 0x8256
#define GL_LOSE_CONTEXT_ON_RESET       0x8252
#endif

static void copy_string(char *out, size_t size, GLenum name)
{
    const char *text = (const char *)glGetString(name);
    snprintf(out, size, "%s", text != NULL ? text : "");
}

// True too if a hardware driver's name stands around it: "zink (llvmpipe)", "virgl (LLVMPIPE)".
static bool is_software_renderer(const char *renderer)
{
    static const char *const names[] = {
        "llvmpipe",
        "softpipe",
        "swrast",
        "software rasterizer",
        "swiftshader",
        "lavapipe",
        "Basic Render Driver",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasestr(renderer, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

// Returns true if resets are reported: a driver may take the attribute and still not do so.
static bool reports_resets(const struct gi_platform_info *info)
{
    const char *extensions = (const char *)glGetString(GL_EXTENSIONS);
    GLint strategy = 0;
    if (info->gles_minor < 2 && !gi_egl_has(extensions, "GL_KHR_robustness") &&
        !gi_egl_has(extensions, "GL_EXT_robustness")) {
        return false;
    }
    glGetIntegerv(GL_RESET_NOTIFICATION_STRATEGY, &strategy);
    return glGetError() == GL_NO_ERROR && strategy == GL_LOSE_CONTEXT_ON_RESET;
}

bool gi_context_has_reset(void)
{
    const char *extensions = (const char *)glGetString(GL_EXTENSIONS);
    const char *name = "glGetGraphicsResetStatus";
    if (gi_egl_has(extensions, "GL_KHR_robustness")) {
        name = "glGetGraphicsResetStatusKHR";
    } else if (gi_egl_has(extensions, "GL_EXT_robustness")) {
        name = "glGetGraphicsResetStatusEXT";
    }
    GLenum(GL_APIENTRY * get)(void) = (GLenum(GL_APIENTRY *)(void))eglGetProcAddress(name);
    return get != NULL && get() != GL_NO_ERROR;
}

bool gi_context_read_info(struct gi_platform_info *info, const struct gi_egl_display *display,
                          const struct gi_egl_context_features *got, struct glinfer_error *err)
{
    copy_string(info->renderer, sizeof(info->renderer), GL_RENDERER);
    copy_string(info->vendor, sizeof(info->vendor), GL_VENDOR);
    copy_string(info->version, sizeof(info->version), GL_VERSION);
    glGetIntegerv(GL_MAJOR_VERSION, &info->gles_major); // unknown to ES 2
    glGetIntegerv(GL_MINOR_VERSION, &info->gles_minor);
    if (glGetError() != GL_NO_ERROR) {
        info->gles_major = 2;
        info->gles_minor = 0;
    }
    info->egl_major = display->major;
    info->egl_minor = display->minor;
    info->is_software = is_software_renderer(info->renderer);
    info->is_debug = got->is_debug;
    if (info->gles_major < 3 || (info->gles_major == 3 && info->gles_minor < 1)) {
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                            "%s has OpenGL ES %d.%d only: compute shaders need 3.1", info->renderer,
                            info->gles_major, info->gles_minor);
    }
    info->is_robust = got->is_robust && reports_resets(info);
    return true;
}

bool gi_context_check_api(const struct gi_egl_display *display, EGLContext context,
                          struct glinfer_error *err)
{
    EGLint api = 0;
    return (eglQueryContext(display->egl, context, EGL_CONTEXT_CLIENT_TYPE, &api) &&
            api == EGL_OPENGL_ES_API) ||
           gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                        "the host's context is not one of OpenGL ES on the display that it gives");
}
