#include "platform/platform.h"

#include "base/array.h"
#include "base/size_signal.h"
#include "platform/context_info.h"
#include "platform/host.h"
#include "platform/native_fence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <GLES3/gl31.h>

struct gi_platform {
    const struct gi_backend *backend;
    struct gi_egl_display display;
    EGLContext context;
    struct gi_host host; // all zero without one
    pid_t owner;         // the process that opened it
    bool is_born_reset;  // the context reported a reset as soon as it was made
    struct gi_platform_info info;
};

// The backends, in the order in which they are tried.
static const struct gi_backend *const backends[] = {
    &gi_backend_gbm,
    &gi_backend_device,
    &gi_backend_surfaceless,
};

enum { N_BACKENDS = sizeof(backends) / sizeof(backends[0]), MAX_CANDIDATES = 64 };

//-- current context ---------------------------------------------------------------------------

static bool report_current_failure(struct glinfer_error *err)
{
    EGLint code = eglGetError();
    switch (code) {
    case EGL_CONTEXT_LOST:
        return gi_error_set(err, GLINFER_STATUS_GPU_LOST,
                            "the GPU was reset or has gone (eglMakeCurrent: EGL_CONTEXT_LOST)");
    case EGL_BAD_ACCESS:
        return gi_error_set(err, GLINFER_STATUS_DRIVER,
                            "the context cannot be made current (eglMakeCurrent: EGL_BAD_ACCESS); "
                            "a device is used by one thread at a time");
    case EGL_NOT_INITIALIZED:
    case EGL_BAD_DISPLAY:
    case EGL_BAD_CONTEXT:
        return gi_error_set(err, GLINFER_STATUS_DRIVER,
                            "the context is gone (eglMakeCurrent: %s); the program has terminated "
                            "the EGL display that it shares with this device",
                            gi_egl_error_name(code));
    default:
        return gi_error_set(err, GLINFER_STATUS_DRIVER,
                            "the context cannot be made current (eglMakeCurrent: %s)",
                            gi_egl_error_name(code));
    }
}

// A driver's threads do not come along with a fork: whoever calls it waits for ever.
bool gi_platform_is_own(const struct gi_platform *platform, struct glinfer_error *err)
{
    return platform->owner == getpid() ||
           gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                        "the device was opened by process %d, which this one was forked from; "
                        "fork before the first device, or use exec",
                        (int)platform->owner);
}

static bool make_current(struct gi_platform *platform, struct glinfer_error *err)
{
    if (platform->host.has_context) {
        return gi_host_enter(&platform->host, err);
    }
    return eglMakeCurrent(platform->display.egl, EGL_NO_SURFACE, EGL_NO_SURFACE,
                          platform->context) ||
           report_current_failure(err);
}

// Makes a saved context current again, or none if it cannot be.
static void restore_current(const struct gi_platform *platform,
                            const struct gi_platform_saved *saved)
{
    if (saved->context == EGL_NO_CONTEXT ||
        !eglMakeCurrent(saved->display, saved->surface, saved->read, saved->context)) {
        eglMakeCurrent(platform->display.egl, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    }
}

// Puts back what the host's callbacks have left otherwise.
static void restore_changed(const struct gi_platform *platform,
                            const struct gi_platform_saved *saved)
{
    if (eglGetCurrentContext() != saved->context ||
        eglGetCurrentSurface(EGL_DRAW) != saved->surface ||
        eglGetCurrentSurface(EGL_READ) != saved->read) {
        restore_current(platform, saved);
    }
}

bool gi_platform_enter(struct gi_platform *platform, struct gi_platform_saved *saved,
                       struct glinfer_error *err)
{
    *saved = (struct gi_platform_saved){
        .display = eglGetCurrentDisplay(),
        .context = eglGetCurrentContext(),
        .surface = eglGetCurrentSurface(EGL_DRAW),
        .read = eglGetCurrentSurface(EGL_READ),
        .api = eglQueryAPI(),
    };
    if (!gi_platform_is_own(platform, err)) {
        return false;
    }
    eglBindAPI(EGL_OPENGL_ES_API);
    if (!make_current(platform, err)) {
        eglBindAPI(saved->api);
        if (platform->host.has_context) {
            restore_changed(platform, saved);
        }
        return false;
    }
    return true;
}

bool gi_platform_enter_last(struct gi_platform *platform, struct gi_platform_saved *saved)
{
    if (gi_platform_enter(platform, saved, NULL)) {
        return true;
    }
    if (gi_platform_is_own(platform, NULL)) {
        eglMakeCurrent(platform->display.egl, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    }
    const EGLContext current = eglGetCurrentContext();
    return current == EGL_NO_CONTEXT || current == platform->context;
}

void gi_platform_leave(struct gi_platform *platform, const struct gi_platform_saved *saved)
{
    if (platform->host.depth == 0) { // our own context, or none
        if (eglGetCurrentContext() == platform->context) {
            glFlush(); // contexts that share objects expect it
        }
        restore_current(platform, saved);
        eglBindAPI(saved->api);
        return;
    }
    gi_host_leave(&platform->host);
    eglBindAPI(saved->api);
    restore_changed(platform, saved);
}

void gi_platform_abandon(struct gi_platform *platform)
{
    platform->host.is_gone = platform->host.has_context;
}

void (*gi_platform_proc(const struct gi_platform *platform, const char *name))(void)
{
    (void)platform;
    return eglGetProcAddress(name);
}

bool gi_platform_submit(struct gi_platform *platform)
{
    return gi_native_fence_submit(platform->display.egl);
}

int gi_platform_fence_fd(struct gi_platform *platform)
{
    return gi_native_fence_fd(platform->display.egl);
}

//-- one candidate -----------------------------------------------------------------------------

// Makes a context with the wanted features and describes it.
static bool create_context(struct gi_platform *platform,
                           const struct gi_egl_context_features *wanted, struct glinfer_error *err)
{
    struct gi_egl_context_features got = {0};
    struct gi_platform_saved saved;
    EGLenum api = eglQueryAPI();
    if (!eglBindAPI(EGL_OPENGL_ES_API)) {
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE, "EGL has no OpenGL ES");
    }
    platform->context = gi_egl_context_create(&platform->display, platform->host.gl.share_context,
                                              wanted, &got, err);
    eglBindAPI(api);
    if (platform->context == EGL_NO_CONTEXT || !gi_platform_enter(platform, &saved, err)) {
        return false;
    }
    bool is_good = gi_context_read_info(&platform->info, &platform->display, &got, err);
    platform->is_born_reset = is_good && platform->info.is_robust && gi_context_has_reset();
    gi_platform_leave(platform, &saved);
    return is_good;
}

// Replaces a context that reports a reset before it was given any work, and then does nothing any
// more, by one that reports none.
static bool create_sound_context(struct gi_platform *platform,
                                 const struct gi_platform_params *params, struct glinfer_error *err)
{
    struct gi_egl_context_features wanted = {
        .is_robust = true,
        .is_debug = params->debug,
        .is_low_priority = params->low_priority,
        .is_released_at_once = true,
    };
    if (!create_context(platform, &wanted, err)) {
        return false;
    }
    if (!platform->is_born_reset) {
        return true;
    }
    gi_log_write(params->log, GLINFER_LOG_WARN,
                 "%s: a new context reports a reset; resets are not asked for any more",
                 platform->info.renderer);
    eglDestroyContext(platform->display.egl, platform->context);
    platform->context = EGL_NO_CONTEXT;
    wanted.is_robust = false;
    return create_context(platform, &wanted, err);
}

static struct gi_platform *create_platform(const struct gi_backend *backend, const char *device,
                                           struct glinfer_error *err)
{
    struct gi_platform *platform = gi_array_zeroed(1, sizeof(*platform), "an EGL context", err);
    if (platform != NULL) {
        platform->backend = backend;
        platform->owner = getpid();
        snprintf(platform->info.device, sizeof(platform->info.device), "%s", device);
    }
    return platform;
}

// Checks the room of Mesa's cache: before a context, which may write to it, and again after that,
// when the file is there whose blocks have to be reserved.
static bool check_cache(const struct gi_platform *platform, struct glinfer_error *err)
{
    const char *vendor = eglQueryString(platform->display.egl, EGL_VENDOR);
    return !vendor || !strstr(vendor, "Mesa") || gi_driver_cache_check(err);
}

static struct gi_platform *open_candidate(const struct gi_platform_params *params,
                                          const struct gi_backend *backend, const char *device,
                                          struct glinfer_error *err)
{
    struct gi_platform *platform = create_platform(backend, device, err);
    if (platform == NULL) {
        return NULL;
    }
    const char *colon = strchr(device, ':');
    if (!backend->open(&platform->display, colon != NULL ? colon + 1 : "", err) ||
        !check_cache(platform, err) || !create_sound_context(platform, params, err) ||
        !check_cache(platform, err)) {
        goto fail;
    }
    gi_log_write(params->log, GLINFER_LOG_DEBUG, "%s: %s, %s", device, platform->info.renderer,
                 platform->info.version);
    return platform;

fail:
    gi_platform_close(platform);
    return NULL;
}

// Takes the host's context as it is.
static bool adopt_context(struct gi_platform *platform, struct glinfer_error *err)
{
    const struct gi_egl_context_features got = {.is_robust = true};
    struct gi_platform_saved saved;
    platform->context = platform->host.gl.context;
    platform->info.is_host_context = true;
    if (!gi_context_check_api(&platform->display, platform->context, err) ||
        !gi_platform_enter(platform, &saved, err)) {
        return false;
    }
    bool is_good = gi_context_read_info(&platform->info, &platform->display, &got, err);
    if (is_good && platform->info.is_robust && gi_context_has_reset()) {
        is_good = gi_error_set(err, GLINFER_STATUS_GPU_LOST,
                               "the host's context was lost by a reset of the GPU: make a new one");
    }
    gi_platform_leave(platform, &saved);
    return is_good;
}

static bool check_software(const struct gi_platform_params *params, const char *renderer,
                           bool is_software, struct glinfer_error *err)
{
    return !is_software || params->allow_software ||
           gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                        "%s runs on the CPU, and software renderers are not allowed", renderer);
}

static const struct gi_backend host_backend = {.name = "host", .close = gi_egl_display_finish};

static struct gi_platform *open_host(const struct gi_platform_params *params,
                                     struct glinfer_error *err)
{
    struct gi_platform *platform = create_platform(&host_backend, "host", err);
    if (platform == NULL) {
        return NULL;
    }
    const struct gi_platform_info *info = &platform->info;
    if (!gi_host_open(&platform->host, &platform->display, params->host, err) ||
        !check_cache(platform, err) ||
        !(platform->host.has_context ? adopt_context(platform, err)
                                     : create_sound_context(platform, params, err)) ||
        !check_cache(platform, err) ||
        !check_software(params, info->renderer, info->is_software, err)) {
        gi_platform_close(platform);
        return NULL;
    }
    return platform;
}

void gi_platform_close(struct gi_platform *platform)
{
    if (platform == NULL || !gi_platform_is_own(platform, NULL)) {
        return;
    }
    if (platform->context != EGL_NO_CONTEXT && !platform->host.has_context) {
        if (eglGetCurrentContext() == platform->context) {
            eglMakeCurrent(platform->display.egl, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        }
        eglDestroyContext(platform->display.egl, platform->context);
    }
    platform->backend->close(&platform->display);
    free(platform);
}

const struct gi_platform_info *gi_platform_describe(const struct gi_platform *platform)
{
    return &platform->info;
}

//-- the choice --------------------------------------------------------------------------------

struct choice {
    const struct gi_platform_params *params;
    bool has_seen_software;
    struct gi_platform *hardware, *software; // owned
    struct glinfer_error failure;            // a name not understood, no memory: not a refusal
    char refusals[sizeof(((struct glinfer_error *)0)->message)];
    size_t refusals_size;
};

static void add_refusal(struct choice *choice, const char *device, const char *reason)
{
    size_t room = sizeof(choice->refusals) - choice->refusals_size;
    int size = snprintf(choice->refusals + choice->refusals_size, room, "%s%s: %s",
                        choice->refusals_size > 0 ? "; " : "", device, reason);
    if (size > 0) {
        choice->refusals_size += (size_t)size < room ? (size_t)size : room - 1;
    }
    gi_log_write(choice->params->log, GLINFER_LOG_DEBUG, "%s: %s", device, reason);
}

static void judge_software(struct choice *choice, struct gi_platform *platform)
{
    struct glinfer_error err = {0};
    choice->has_seen_software = true;
    if (!check_software(choice->params, platform->info.renderer, true, &err)) {
        add_refusal(choice, platform->info.device, err.message);
    } else if (choice->software == NULL) {
        choice->software = platform;
        return;
    }
    gi_platform_close(platform);
}

// Keeps the first of each kind; hardware ends the search.
static void judge_candidate(struct choice *choice, const struct gi_backend *backend,
                            const char *device)
{
    struct glinfer_error err = {0};
    struct gi_platform *platform = open_candidate(choice->params, backend, device, &err);
    if (platform == NULL) {
        if (err.status == GLINFER_STATUS_INVALID_ARGUMENT || err.status == GLINFER_STATUS_IO ||
            err.status == GLINFER_STATUS_NO_MEMORY) {
            choice->failure = err;
        }
        add_refusal(choice, device, err.message);
    } else if (platform->info.is_software) {
        judge_software(choice, platform);
    } else {
        choice->hardware = platform;
    }
}

static void judge_backend(struct choice *choice, const struct gi_backend *backend)
{
    struct gi_platform_candidate candidates[MAX_CANDIDATES];
    struct glinfer_error err = {0};
    size_t n = backend->list(candidates, MAX_CANDIDATES, &err);
    if (n == 0) {
        add_refusal(choice, backend->name, err.message);
    }
    for (size_t i = 0; i < n && choice->hardware == NULL; i++) {
        judge_candidate(choice, backend, candidates[i].device);
    }
}

// Tries backends until one has hardware. Skips surfaceless after a software renderer of the device
// platform, which would be the same renderer: a second display costs time, and virgl's test server,
// which serves one client, would wait forever.
static void judge_all(struct choice *choice)
{
    for (size_t i = 0; i < N_BACKENDS && choice->hardware == NULL; i++) {
        if (backends[i] != &gi_backend_surfaceless || !choice->has_seen_software) {
            judge_backend(choice, backends[i]);
        }
    }
}

static struct gi_platform *settle_choice(struct choice *choice, struct glinfer_error *err)
{
    if (choice->hardware != NULL) {
        gi_platform_close(choice->software);
        return choice->hardware;
    }
    if (choice->software == NULL && choice->failure.status != GLINFER_STATUS_OK) {
        gi_error_pass(err, &choice->failure);
    } else if (choice->software == NULL) {
        gi_error_set(err, GLINFER_STATUS_NO_DEVICE, "no usable GPU: %s", choice->refusals);
    }
    return choice->software;
}

// Returns the backend that a device name begins with; NULL if there is none.
static const struct gi_backend *find_backend(const char *device)
{
    size_t size = strcspn(device, ":");
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (strlen(backends[i]->name) == size && memcmp(backends[i]->name, device, size) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

static bool check_device_name(const char *device, struct glinfer_error *err)
{
    const char *colon = strchr(device, ':');
    bool is_known = find_backend(device) != NULL && (colon == NULL || colon[1] != '\0');
    if (!is_known || strlen(device) >= sizeof(((struct gi_platform_info *)0)->device)) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "device \"%.128s\" is not known; give auto, gbm, "
                            "gbm:/dev/dri/renderD128, egl, egl:0 or surfaceless",
                            device);
    }
    return true;
}

static struct gi_platform *open_any(const struct gi_platform_params *params,
                                    struct glinfer_error *err)
{
    struct choice choice = {.params = params};
    const char *device = params->device;
    if (!gi_egl_check_process(err)) {
        return NULL;
    }
    if (params->host != NULL) {
        return open_host(params, err);
    }
    if (device == NULL || device[0] == '\0' || strcmp(device, "auto") == 0) {
        judge_all(&choice);
    } else if (!check_device_name(device, err)) {
        return NULL;
    } else if (strchr(device, ':') != NULL) {
        judge_candidate(&choice, find_backend(device), device);
    } else {
        judge_backend(&choice, find_backend(device));
    }
    return settle_choice(&choice, err);
}

struct gi_platform *gi_platform_open(const struct gi_platform_params *params,
                                     struct glinfer_error *err)
{
    struct gi_size_signal held; // the driver creates files
    gi_size_signal_hold(&held);
    struct gi_platform *platform = open_any(params, err);
    gi_size_signal_release(&held);
    return platform;
}

size_t gi_platform_candidates(struct gi_platform_candidate *out, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < N_BACKENDS && n < cap; i++) {
        const size_t n_found = backends[i]->list(out + n, cap - n, NULL);
        if (n_found == 0) { // opened by its name, the backend says why
            snprintf(out[n].device, sizeof(out[n].device), "%s", backends[i]->name);
        }
        n += n_found > 0 ? n_found : 1;
    }
    return n;
}
