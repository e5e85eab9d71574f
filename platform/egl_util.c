#include "platform/egl_util.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

bool gi_egl_has(const char *list, const char *name)
{
    size_t size = strlen(name);
    while (list != NULL && *list != '\0') {
        size_t word = strcspn(list, " ");
        if (word == size && memcmp(list, name, size) == 0) {
            return true;
        }
        list += word + strspn(list + word, " ");
    }
    return false;
}

const char *gi_egl_error_name(EGLint code)
{
#define CASE(name)                                                                                 \
    case name:                                                                                     \
        return #name
    switch (code) {
        CASE(EGL_SUCCESS);
        CASE(EGL_NOT_INITIALIZED);
        CASE(EGL_BAD_ACCESS);
        CASE(EGL_BAD_ALLOC);
        CASE(EGL_BAD_ATTRIBUTE);
        CASE(EGL_BAD_CONFIG);
        CASE(EGL_BAD_CONTEXT);
        CASE(EGL_BAD_CURRENT_SURFACE);
        CASE(EGL_BAD_DISPLAY);
        CASE(EGL_BAD_MATCH);
        CASE(EGL_BAD_NATIVE_PIXMAP);
        CASE(EGL_BAD_NATIVE_WINDOW);
        CASE(EGL_BAD_PARAMETER);
        CASE(EGL_BAD_SURFACE);
        CASE(EGL_CONTEXT_LOST);
        CASE(EGL_BAD_DEVICE_EXT);
    default:
        return "an unknown EGL error";
    }
#undef CASE
}

// Returns the extensions of libEGL itself, which need no display; never NULL.
static const char *client_extensions(void)
{
    const char *list = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
    if (list == NULL) {
        eglGetError(); // a libEGL without EGL_EXT_client_extensions raises EGL_BAD_DISPLAY
        return "";
    }
    return list;
}

bool gi_egl_require(const char *name, const char *other, struct glinfer_error *err)
{
    const char *list = client_extensions();
    if (list[0] == '\0') {
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                            "libEGL found no driver; install Mesa's (libegl-mesa0, mesa-libEGL) "
                            "or the one of the GPU's vendor");
    }
    if (!gi_egl_has(list, name) && (other == NULL || !gi_egl_has(list, other))) {
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE, "libEGL has no %s", name);
    }
    return true;
}

//-- display -----------------------------------------------------------------------------------

// Returns true if libEGL is 1.5 or newer; one that does not tell its version is older.
static bool is_client_1_5(void)
{
    const char *version = eglQueryString(EGL_NO_DISPLAY, EGL_VERSION);
    if (version == NULL) {
        eglGetError();
        return false;
    }
    return strncmp(version, "1.", 2) != 0 || version[2] >= '5';
}

// Gets a display by one of two entry points, which differ in the width of an attribute.
static EGLDisplay get_display(EGLenum platform, void *native, bool is_tracked)
{
    if (is_client_1_5()) {
        PFNEGLGETPLATFORMDISPLAYPROC get =
            (PFNEGLGETPLATFORMDISPLAYPROC)eglGetProcAddress("eglGetPlatformDisplay");
        const EGLAttrib attribs[] = {EGL_TRACK_REFERENCES_KHR, EGL_TRUE, EGL_NONE};
        if (get != NULL) {
            return get(platform, native, is_tracked ? attribs : NULL);
        }
    }
    PFNEGLGETPLATFORMDISPLAYEXTPROC get_ext =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    const EGLint attribs[] = {EGL_TRACK_REFERENCES_KHR, EGL_TRUE, EGL_NONE};
    return get_ext != NULL ? get_ext(platform, native, is_tracked ? attribs : NULL)
                           : EGL_NO_DISPLAY;
}

// A forked child has the displays that its parent initialised, without the threads of their
// drivers: a call that needs such a thread never returns. These two are all that the library shares
// between devices.
static atomic_int n_initialised;  // displays, and not terminated
static atomic_int initialised_by; // process

bool gi_egl_check_process(struct glinfer_error *err)
{
    const int owner = atomic_load(&initialised_by);
    return atomic_load(&n_initialised) == 0 || owner == (int)getpid() ||
           gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                        "cannot open a device: this process was forked from process %d, which has "
                        "used the GPU driver; fork before the first device, or use exec",
                        owner);
}

void gi_egl_note_display(void)
{
    atomic_store(&initialised_by, (int)getpid());
    atomic_fetch_add(&n_initialised, 1);
}

bool gi_egl_display_init(struct gi_egl_display *display, EGLenum platform, void *native,
                         bool is_private, struct glinfer_error *err)
{
    if (!is_client_1_5() && !gi_egl_require("EGL_EXT_platform_base", NULL, err)) {
        return false;
    }
    display->can_terminate = is_private;
    // libEGL may list an extension that only another vendor's driver has; this driver then refuses
    // the attribute.
    if (!is_private && gi_egl_has(client_extensions(), "EGL_KHR_display_reference")) {
        display->egl = get_display(platform, native, true);
        display->can_terminate = display->egl != EGL_NO_DISPLAY;
    }
    if (display->egl == EGL_NO_DISPLAY) {
        display->egl = get_display(platform, native, false);
    }
    if (display->egl == EGL_NO_DISPLAY) {
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                            "no EGL driver offers a display (eglGetPlatformDisplay: %s)",
                            gi_egl_error_name(eglGetError()));
    }
    if (!eglInitialize(display->egl, &display->major, &display->minor)) {
        display->egl = EGL_NO_DISPLAY;
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                            "the display cannot be initialised (eglInitialize: %s)",
                            gi_egl_error_name(eglGetError()));
    }
    gi_egl_note_display();
    return true;
}

void gi_egl_display_finish(struct gi_egl_display *display)
{
    if (display->egl != EGL_NO_DISPLAY && display->can_terminate) {
        eglTerminate(display->egl);
        atomic_fetch_sub(&n_initialised, 1);
    }
    display->egl = EGL_NO_DISPLAY;
}

//-- context -----------------------------------------------------------------------------------

enum { MAX_ATTRIBS = 16 };

struct context_request {
    EGLDisplay display;
    EGLConfig config;
    EGLContext share;
    const char *extensions;
    bool has_versions; // the minor version can be asked for
    bool is_1_5;
};

static void add_attrib(EGLint *attribs, size_t *n, EGLint name, EGLint value)
{
    attribs[(*n)++] = name;
    attribs[(*n)++] = value;
    attribs[*n] = EGL_NONE;
}

static EGLContext try_context(const struct context_request *request, EGLint major, EGLint minor,
                              const struct gi_egl_context_features *features)
{
    EGLint attribs[MAX_ATTRIBS];
    size_t n = 0;
    // EGL_CONTEXT_CLIENT_VERSION has the same value and needs no extension.
    add_attrib(attribs, &n, EGL_CONTEXT_MAJOR_VERSION, major);
    if (request->has_versions) {
        add_attrib(attribs, &n, EGL_CONTEXT_MINOR_VERSION, minor);
    }
    if (features->is_robust) {
        add_attrib(attribs, &n, EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT,
                   EGL_LOSE_CONTEXT_ON_RESET_EXT);
    }
    if (features->is_debug && request->is_1_5) {
        add_attrib(attribs, &n, EGL_CONTEXT_OPENGL_DEBUG, EGL_TRUE);
    } else if (features->is_debug) {
        add_attrib(attribs, &n, EGL_CONTEXT_FLAGS_KHR, EGL_CONTEXT_OPENGL_DEBUG_BIT_KHR);
    }
    if (features->is_low_priority) {
        add_attrib(attribs, &n, EGL_CONTEXT_PRIORITY_LEVEL_IMG, EGL_CONTEXT_PRIORITY_LOW_IMG);
    }
    if (features->is_released_at_once) {
        add_attrib(attribs, &n, EGL_CONTEXT_RELEASE_BEHAVIOR_KHR,
                   EGL_CONTEXT_RELEASE_BEHAVIOR_NONE_KHR);
    }
    return eglCreateContext(request->display, request->config, request->share, attribs);
}

static bool prepare_request(struct context_request *request, const struct gi_egl_display *display,
                            struct glinfer_error *err)
{
    *request = (struct context_request){.display = display->egl};
    request->extensions = eglQueryString(display->egl, EGL_EXTENSIONS);
    request->is_1_5 = display->major > 1 || display->minor >= 5;
    request->has_versions =
        request->is_1_5 || gi_egl_has(request->extensions, "EGL_KHR_create_context");
    if (!gi_egl_has(request->extensions, "EGL_KHR_surfaceless_context")) {
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                            "EGL_KHR_surfaceless_context is missing");
    }
    if (gi_egl_has(request->extensions, "EGL_KHR_no_config_context")) {
        return true; // config is EGL_NO_CONFIG_KHR
    }
    const EGLint attribs[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, 0,
                              EGL_NONE};
    EGLint n = 0;
    if (!eglChooseConfig(display->egl, attribs, &request->config, 1, &n) || n < 1) {
        return gi_error_set(
            err, GLINFER_STATUS_NO_DEVICE,
            "EGL_KHR_no_config_context is missing, and there is no config for OpenGL ES 3");
    }
    return true;
}

// Returns the features worth asking for: wanted and known to the display.
static struct gi_egl_context_features known_features(const struct context_request *request,
                                                     const struct gi_egl_context_features *wanted)
{
    return (struct gi_egl_context_features){
        .is_robust = wanted->is_robust &&
                     gi_egl_has(request->extensions, "EGL_EXT_create_context_robustness"),
        .is_debug = wanted->is_debug && request->has_versions,
        .is_low_priority =
            wanted->is_low_priority && gi_egl_has(request->extensions, "EGL_IMG_context_priority"),
        .is_released_at_once = wanted->is_released_at_once &&
                               gi_egl_has(request->extensions, "EGL_KHR_context_flush_control"),
    };
}

// Tries 3.2 and 3.1 with all features, then with fewer: the priority, which a user asked for, goes
// last.
static EGLContext try_features(const struct context_request *request,
                               const struct gi_egl_context_features *known,
                               struct gi_egl_context_features *got)
{
    struct gi_egl_context_features flushed = *known;
    flushed.is_released_at_once = false;
    const bool is_low = known->is_low_priority, is_at_once = known->is_released_at_once;
    const struct gi_egl_context_features fewer[] = {
        *known,
        flushed,
        {known->is_robust, false, is_low, is_at_once},
        {false, known->is_debug, is_low, is_at_once},
        {false, false, is_low, is_at_once},
        {false, false, is_low, false},
        {.is_robust = false},
    };
    for (size_t i = 0; i < sizeof(fewer) / sizeof(fewer[0]); i++) {
        if (i > 0 && memcmp(&fewer[i], &fewer[i - 1], sizeof(fewer[0])) == 0) {
            continue;
        }
        for (EGLint minor = 2; minor >= (request->has_versions ? 1 : 2); minor--) {
            EGLContext context = try_context(request, 3, minor, &fewer[i]);
            if (context != EGL_NO_CONTEXT) {
                *got = fewer[i];
                return context;
            }
        }
    }
    return EGL_NO_CONTEXT;
}

EGLContext gi_egl_context_create(const struct gi_egl_display *display, EGLContext share,
                                 const struct gi_egl_context_features *wanted,
                                 struct gi_egl_context_features *got, struct glinfer_error *err)
{
    struct context_request request;
    if (!prepare_request(&request, display, err)) {
        return EGL_NO_CONTEXT;
    }
    request.share = share;
    const struct gi_egl_context_features known = known_features(&request, wanted);
    EGLContext context = try_features(&request, &known, got);
    EGLint code = eglGetError();
    // Old versions are for the refusal, which names them.
    for (EGLint major = 3; context == EGL_NO_CONTEXT && major >= 2; major--) {
        *got = (struct gi_egl_context_features){0};
        context = try_context(&request, major, 0, got);
    }
    if (context == EGL_NO_CONTEXT) {
        gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                     "no OpenGL ES context can be created (eglCreateContext: %s)",
                     gi_egl_error_name(code));
    }
    return context;
}
