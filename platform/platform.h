// A current GLES 3.1 context without a window: on a DRM render node through GBM, on an EGL device,
// on Mesa's surfaceless platform, or what the host program brings. Knows EGL, GBM and DRM and
// nothing of language models. The display and the context belong to the gi_platform, where they are
// not the host's; the caller's current context is saved and put back, and so is the state of a
// host's context. One thread at a time per gi_platform.
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stdint.h>

struct gi_platform;

struct gi_platform_params {
    const char *device;                 // as glinfer_device_params.device
    bool allow_software;                // accept a renderer that runs on the CPU
    bool debug;                         // ask for a debug context
    bool low_priority;                  // EGL_IMG_context_priority LOW where there is one
    const struct gi_log *log;           // borrowed, may be NULL
    const struct glinfer_host_gl *host; // a whole struct, in place of device; NULL: none
};

struct gi_platform_info {
    char device[128];   // name that selects this device: "gbm:/dev/dri/renderD128", "egl:0",
                        // "surfaceless"; "host"
    char renderer[128]; // GL_RENDERER
    char vendor[128];   // GL_VENDOR
    char version[128];  // GL_VERSION
    int gles_major, gles_minor;
    int egl_major, egl_minor;
    bool is_software;
    bool is_robust; // resets are reported by glGetGraphicsResetStatus, and none was from the start
    bool is_debug;
    bool is_host_context; // the host draws with the context, too
};

// A device that could be tried.
struct gi_platform_candidate {
    char device[128];
};
// Fills at most cap candidates in the order in which "auto" tries them and returns how many there
// are. A backend that finds no device stands there by its name alone, and opening that is refused.
size_t gi_platform_candidates(struct gi_platform_candidate *out, size_t cap);

// Opens params->device; "auto" takes the first hardware renderer that works, then, if allowed, the
// first software one; "gbm" and "egl" do so among their own candidates. What is current in this
// thread stays current. Fails with NO_DEVICE and each candidate's refusal in
// one message, INVALID_ARGUMENT for a device name that is not understood, NO_MEMORY. On a host's GL
// as gi_host_open and gi_host_enter say (platform/host.h), and with GPU_LOST.
struct gi_platform *gi_platform_open(const struct gi_platform_params *params,
                                     struct glinfer_error *err);
// Accepts NULL. Leaves nothing current if the context still was, and the displays of others alone;
// all of it in a process that was forked from the one that opened it.
void gi_platform_close(struct gi_platform *platform);
// Tells that the host has given another context in place of its own one, of which nothing may be
// touched any more; no effect on a context of ours.
void gi_platform_abandon(struct gi_platform *platform);
const struct gi_platform_info *gi_platform_describe(const struct gi_platform *platform);

// Makes sure of the room for the shader cache that Mesa keeps on disk. Mesa maps the cache's index,
// a sparse file: a write to a page for which the file system has no room ends the process with
// SIGBUS. Reserves the blocks of the index, so that a disk that fills later does no harm; before
// there is an index, checks that there is room for one. Succeeds where MESA_SHADER_CACHE_DISABLE
// turns the cache off. Fails with IO.
bool gi_driver_cache_check(struct glinfer_error *err);

// The context that was current in this thread, to be put back; opaque to the caller.
struct gi_platform_saved {
    void *display, *context, *surface, *read;
    uint32_t api;
};
// Returns true if this process opened the platform, else false with INVALID_ARGUMENT.
bool gi_platform_is_own(const struct gi_platform *platform, struct glinfer_error *err);
// Makes the context current and saves in *saved what was. Fails with GPU_LOST, DRIVER, and as
// gi_platform_is_own.
bool gi_platform_enter(struct gi_platform *platform, struct gi_platform_saved *saved,
                       struct glinfer_error *err);
// Enters to destroy what the context holds. One that cannot be entered is taken for gone: then
// nothing is current, and deleting by GL does nothing. False if the host's context cannot be put
// away, as in a process that was forked.
bool gi_platform_enter_last(struct gi_platform *platform, struct gi_platform_saved *saved);
// Puts back what gi_platform_enter saved.
void gi_platform_leave(struct gi_platform *platform, const struct gi_platform_saved *saved);

// Makes and drops a fence of the kernel's (EGL_ANDROID_native_fence_sync), for which a driver hands
// all that was submitted to the kernel, where a plain flush may be put off and merged with the
// next. False if the display has none.
bool gi_platform_submit(struct gi_platform *platform);
// Makes such a fence, too, flushes, and returns a descriptor that is readable once all that was
// submitted is done; -1: there is none. The caller closes it.
int gi_platform_fence_fd(struct gi_platform *platform);

// Returns the address of a GL or EGL entry point; NULL if there is none. libglvnd returns a stub
// for any name: look for the extension first.
void (*gi_platform_proc(const struct gi_platform *platform, const char *name))(void);
