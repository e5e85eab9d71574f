// The platform layer on the driver that this machine has, and on poorer ones made of it.
#include "fake_egl.h"
#include "platform_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <EGL/eglext.h>
#include <GLES3/gl31.h>

#ifndef GL_GUILTY_CONTEXT_RESET
#define GL_GUILTY_CONTEXT_RESET 0x8253
#endif

//-- the host program --------------------------------------------------------------------------

struct host {
    EGLDisplay display;
    EGLContext context;
    EGLSurface draw, read;
    EGLenum api;
};

static EGLDisplay get_host_display(void)
{
    PFNEGLGETPLATFORMDISPLAYEXTPROC get =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDisplay display = get != NULL ? get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL) : NULL;
    if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL)) {
        eglGetError();
        return EGL_NO_DISPLAY;
    }
    return display;
}

// Makes a context of the API current with two surfaces; skips where the driver has none of it.
static void start_host(struct host *host, EGLenum api)
{
    const EGLint size[] = {EGL_WIDTH, 16, EGL_HEIGHT, 16, EGL_NONE};
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
                             api == EGL_OPENGL_API ? EGL_OPENGL_BIT : EGL_OPENGL_ES2_BIT, EGL_NONE};
    const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
    EGLConfig config = NULL;
    EGLint n = 0;
    *host = (struct host){.display = get_host_display(), .api = api};
    if (host->display == EGL_NO_DISPLAY || !eglBindAPI(api) ||
        !eglChooseConfig(host->display, wanted, &config, 1, &n) || n < 1) {
        skip();
    }
    host->draw = eglCreatePbufferSurface(host->display, config, size);
    host->read = eglCreatePbufferSurface(host->display, config, size);
    host->context = eglCreateContext(host->display, config, EGL_NO_CONTEXT,
                                     api == EGL_OPENGL_API ? NULL : version);
    assert_true(eglMakeCurrent(host->display, host->draw, host->read, host->context));
}

static void assert_host_is_current(const struct host *host)
{
    assert_int_equal(eglQueryAPI(), host->api);
    assert_ptr_equal(eglGetCurrentDisplay(), host->display);
    assert_ptr_equal(eglGetCurrentContext(), host->context);
    assert_ptr_equal(eglGetCurrentSurface(EGL_DRAW), host->draw);
    assert_ptr_equal(eglGetCurrentSurface(EGL_READ), host->read);
    assert_non_null(glGetString(GL_VERSION));
}

static void stop_host(struct host *host)
{
    eglMakeCurrent(host->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(host->display, host->context);
    eglDestroySurface(host->display, host->draw);
    eglDestroySurface(host->display, host->read);
    eglBindAPI(EGL_OPENGL_ES_API);
}

static void visit_platform(const struct host *host, const char *device)
{
    struct gi_platform_saved saved;
    struct gi_platform *platform = open_device(device);
    assert_host_is_current(host);
    must_do(gi_platform_enter(platform, &saved, &err));
    assert_int_equal(eglQueryAPI(), EGL_OPENGL_ES_API);
    assert_ptr_not_equal(eglGetCurrentContext(), host->context);
    gi_platform_leave(platform, &saved);
    assert_host_is_current(host);
    gi_platform_close(platform);
    assert_host_is_current(host);
}

TEST(enter_puts_back_an_es_context)
{
    struct host host;
    start_host(&host, EGL_OPENGL_ES_API);
    visit_platform(&host, default_device);
    visit_platform(&host, "surfaceless"); // the host's own display
    stop_host(&host);
}

TEST(enter_puts_back_a_desktop_context)
{
    struct host host;
    start_host(&host, EGL_OPENGL_API);
    visit_platform(&host, default_device);
    stop_host(&host);
}

TEST(enter_puts_back_no_context)
{
    struct gi_platform_saved saved;
    struct gi_platform *platform = open_device(default_device);
    assert_ptr_equal(eglGetCurrentContext(), EGL_NO_CONTEXT);
    eglBindAPI(EGL_OPENGL_API);
    assert_true(gi_platform_enter(platform, &saved, NULL));
    assert_ptr_not_equal(eglGetCurrentContext(), EGL_NO_CONTEXT);
    gi_platform_leave(platform, &saved);
    assert_int_equal(eglQueryAPI(), EGL_OPENGL_API);
    eglBindAPI(EGL_OPENGL_ES_API);
    assert_ptr_equal(eglGetCurrentContext(), EGL_NO_CONTEXT);
    gi_platform_close(platform);
}

// Enters to destroy in a forked process. glvnd lets go of the host's context there; what is still
// current stays so.
static int end_in_a_child(struct gi_platform *platform)
{
    struct gi_platform_saved saved;
    const EGLContext context = eglGetCurrentContext();
    memset(&saved, 0xFF, sizeof(saved));
    alarm(20);
    const bool is_entered = gi_platform_enter_last(platform, &saved);
    if (is_entered != (context == EGL_NO_CONTEXT) || saved.context != context) {
        return 1;
    }
    if (is_entered) {
        gi_platform_leave(platform, &saved);
    }
    gi_platform_close(platform);
    if (eglGetCurrentContext() != context) {
        return 2;
    }
    struct glinfer_error err = {0}; // a driver that lost its threads would wait for them forever
    return !try_open(default_device, &err) && err.status == GLINFER_STATUS_NO_DEVICE &&
                   strstr(err.message, "forked")
               ? 0
               : 3;
}

TEST(a_forked_child_leaves_the_host_alone)
{
    struct host host;
    int status = -1;
    start_host(&host, EGL_OPENGL_ES_API);
    struct gi_platform *platform = open_device(default_device);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(end_in_a_child(platform));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    gi_platform_close(platform);
    assert_host_is_current(&host);
    stop_host(&host);
}

// A driver that has no room for its cache is refused before it writes to it; no other failure to
// reserve the room counts as a full disk.
TEST(a_full_disk_is_an_error)
{
    static const struct {
        int reserve_error;
        bool has_index, is_full, is_off, is_refused;
    } cases[] = {
        {ENOSPC, true, false, false, true}, {EDQUOT, true, false, false, true},
        {ENOSPC, true, true, true, false},  {EOPNOTSUPP, true, false, false, false},
        {0, true, true, false, false},      {0, false, true, false, true},
        {0, false, true, true, false},      {0, false, false, false, false},
    };
    char folder[] = "/tmp/glinfer-room-XXXXXX", index[128];
    const char *before = getenv("MESA_SHADER_CACHE_DIR");
    char *kept = before ? strdup(before) : NULL;
    assert_non_null(mkdtemp(folder));
    snprintf(index, sizeof(index), "%s/mesa_shader_cache", folder);
    assert_int_equal(mkdir(index, 0700), 0);
    strcat(index, "/index");
    setenv("MESA_SHADER_CACHE_DIR", folder, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        unlink(index);
        if (cases[i].has_index) {
            FILE *file = fopen(index, "wb");
            assert_true(file && fputc(1, file) == 1 && fclose(file) == 0);
        }
        fake_egl.reserve_error = cases[i].reserve_error;
        fake_egl.is_disk_full = cases[i].is_full;
        setenv("MESA_SHADER_CACHE_DISABLE", cases[i].is_off ? "true" : "false", 1);
        assert_int_equal(gi_driver_cache_check(&err), !cases[i].is_refused);
        assert_int_equal(err.status, cases[i].is_refused ? GLINFER_STATUS_IO : GLINFER_STATUS_OK);
    }
    fake_egl.is_disk_full = true;
    unlink(index);
    setenv("MESA_SHADER_CACHE_DISABLE", "false", 1);
    assert_refused(default_device, GLINFER_STATUS_IO, "the disk is full");
    unsetenv("MESA_SHADER_CACHE_DISABLE");
    unlink(index); // Mesa's, if it made one
    *strrchr(index, '/') = '\0';
    rmdir(index);
    rmdir(folder);
    unsetenv("MESA_SHADER_CACHE_DIR");
    if (kept) {
        setenv("MESA_SHADER_CACHE_DIR", kept, 1);
    }
    free(kept);
}

TEST(enter_nests)
{
    struct gi_platform_saved outer, inner;
    struct gi_platform *a = open_device(default_device);
    struct gi_platform *b = open_device(default_device);
    assert_true(gi_platform_enter(a, &outer, NULL));
    EGLContext context = eglGetCurrentContext();
    assert_true(gi_platform_enter(b, &inner, NULL));
    assert_ptr_not_equal(eglGetCurrentContext(), context);
    gi_platform_leave(b, &inner);
    assert_ptr_equal(eglGetCurrentContext(), context);
    assert_true(gi_platform_enter(a, &inner, NULL));
    gi_platform_leave(a, &inner);
    assert_ptr_equal(eglGetCurrentContext(), context);
    gi_platform_leave(a, &outer);
    gi_platform_close(a);
    gi_platform_close(b);
}

TEST(close_works_while_entered)
{
    struct gi_platform_saved saved;
    struct gi_platform *platform = open_device(default_device);
    assert_true(gi_platform_enter(platform, &saved, NULL));
    gi_platform_close(platform);
    assert_ptr_equal(eglGetCurrentContext(), EGL_NO_CONTEXT);
    gi_platform_close(NULL);
}

TEST(a_context_that_is_gone_is_put_back_as_none)
{
    struct host host;
    struct gi_platform_saved saved;
    struct gi_platform *platform = open_device(default_device);
    start_host(&host, EGL_OPENGL_ES_API);
    assert_true(gi_platform_enter(platform, &saved, NULL));
    eglDestroyContext(host.display, host.context);
    eglDestroySurface(host.display, host.draw);
    eglDestroySurface(host.display, host.read);
    gi_platform_leave(platform, &saved);
    assert_ptr_equal(eglGetCurrentContext(), EGL_NO_CONTEXT);
    gi_platform_close(platform);
}

TEST(enter_tells_a_lost_context)
{
    struct gi_platform_saved saved;
    struct gi_platform *platform = open_device(default_device);
    fake_egl.no_current = EGL_CONTEXT_LOST;
    must_fail(gi_platform_enter(platform, &saved, &err), GPU_LOST, "");
    fake_egl.no_current = EGL_BAD_ACCESS;
    must_fail(gi_platform_enter(platform, &saved, &err), DRIVER, "EGL_BAD_ACCESS");
    fake_egl.no_current = 0;
    assert_computes(platform);
    gi_platform_close(platform);
}

//-- lives and deaths --------------------------------------------------------------------------

TEST(two_platforms_die_in_either_order)
{
    for (int first = 0; first < 2; first++) {
        struct gi_platform *pair[] = {open_device(default_device), open_device(default_device)};
        assert_computes(pair[0]);
        assert_computes(pair[1]);
        gi_platform_close(pair[first]);
        assert_computes(pair[1 - first]);
        gi_platform_close(pair[1 - first]);
    }
    struct gi_platform *again = open_device(default_device);
    assert_computes(again);
    gi_platform_close(again);
}

static size_t count_entries(const char *path)
{
    DIR *directory = opendir(path);
    size_t n = 0;
    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        n++;
    }
    closedir(directory);
    return n;
}

TEST(cycles_do_not_grow)
{
    size_t n_fds = 0, n_threads = 0;
    for (int i = 0; i < 100; i++) {
        gi_platform_close(open_device(default_device));
        if (i == 4) {
            n_fds = count_entries("/proc/self/fd");
            n_threads = count_entries("/proc/self/task");
        }
    }
    assert_int_equal(count_entries("/proc/self/fd"), n_fds);
    assert_in_range(count_entries("/proc/self/task"), 1, n_threads + 1);
}

TEST(a_private_or_tracked_display_alone_is_terminated)
{
    bool is_gbm = strncmp(default_device, "gbm:", 4) == 0;
    fake_egl.hidden[0] = "EGL_KHR_display_reference";
    gi_platform_close(open_device(default_device));
    assert_int_equal(fake_egl.n_terminates, is_gbm);

    reset_fake(NULL);
    fake_egl.shown = "EGL_KHR_display_reference";
    gi_platform_close(open_device(default_device));
    assert_int_equal(fake_egl.n_tracked, !is_gbm);
    assert_int_equal(fake_egl.n_terminates, 1);
}

// A host program may terminate a display that it shares with us: nothing tells us beforehand.
TEST(a_display_that_the_host_terminates_is_an_error)
{
    EGLDisplay display = get_host_display();
    struct gi_platform_saved saved;
    struct glinfer_error err = {0};
    fake_egl.hidden[0] = "EGL_KHR_display_reference";
    struct gi_platform *platform = display != EGL_NO_DISPLAY ? try_open("surfaceless", &err) : NULL;
    if (platform == NULL) {
        skip();
    }
    eglTerminate(display);
    assert_fails(gi_platform_enter(platform, &saved, &err), err, DRIVER,
                 "terminated the EGL display");
    assert_ptr_equal(get_host_display(), display);
    assert_fails(gi_platform_enter(platform, &saved, &err), err, DRIVER, "");
    gi_platform_close(platform);
    platform = open_device("surfaceless");
    assert_computes(platform);
    gi_platform_close(platform);
}

//-- names and refusals ------------------------------------------------------------------------

TEST(names_that_are_not_understood_are_invalid)
{
    static const char *const names[] = {"vulkan", "gbm:", "egl:", "surfaceless:",       ":",
                                        "AUTO",   "gbmx", "eg",   "/dev/dri/renderD128"};
    char long_name[300] = "gbm:";
    memset(long_name + 4, 'x', sizeof(long_name) - 5);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_refused(names[i], GLINFER_STATUS_INVALID_ARGUMENT, "is not known; give auto");
    }
    assert_refused(long_name, GLINFER_STATUS_INVALID_ARGUMENT, "is not known");
    assert_refused("egl:x", GLINFER_STATUS_INVALID_ARGUMENT, "as in egl:0");
    assert_refused("egl:-1", GLINFER_STATUS_INVALID_ARGUMENT, "as in egl:0");
    assert_refused("egl:0x", GLINFER_STATUS_INVALID_ARGUMENT, "as in egl:0");
    assert_refused("egl:99999999999999999999", GLINFER_STATUS_INVALID_ARGUMENT, "as in egl:0");
    assert_refused("surfaceless:1", GLINFER_STATUS_INVALID_ARGUMENT, "nothing may follow");
}

TEST(devices_that_are_not_there_are_refused)
{
    fake_egl.shown = "EGL_KHR_platform_gbm"; // some drivers have no GBM at all
    assert_refused("gbm:/dev/null", GLINFER_STATUS_NO_DEVICE, "gbm:/dev/null: not a DRM device");
    assert_refused("gbm:/nowhere", GLINFER_STATUS_NO_DEVICE, "gbm:/nowhere: cannot be opened (No");
    fake_egl = (struct fake_egl){
        .hidden = {"EGL_KHR_platform_gbm", "EGL_MESA_platform_gbm"},
    };
    assert_refused("gbm:/dev/null", GLINFER_STATUS_NO_DEVICE, "libEGL has no EGL_KHR_platform_gbm");
    fake_egl = (struct fake_egl){0};
    if (strncmp(default_device, "egl:", 4) == 0) {
        assert_refused("egl:4096", GLINFER_STATUS_NO_DEVICE, "no such EGL device");
    }
}

TEST(software_is_refused_unless_allowed)
{
    const struct gi_platform_params params = {.device = default_device};
    struct glinfer_error err = {0};
    if (!default_is_software) {
        skip();
    }
    assert_fails(gi_platform_open(&params, &err), err, NO_DEVICE, default_device);
    assert_says(err.message, "software renderers are not allowed");
}

TEST(describe_selects_the_same_device_again)
{
    struct gi_platform *platform = open_device(default_device);
    const struct gi_platform_info *info = gi_platform_describe(platform);
    assert_string_equal(info->device, default_device);
    assert_true(info->renderer[0] != '\0' && info->vendor[0] != '\0' && info->version[0] != '\0');
    assert_true(info->gles_major == 3 && info->gles_minor >= 1);
    assert_true(info->egl_major == 1 && info->egl_minor >= 4);
    gi_platform_close(platform);
}

TEST(candidates_are_cut_at_the_cap)
{
    struct gi_platform_candidate all[64], one = {"untouched"};
    size_t n = gi_platform_candidates(all, 64);
    assert_in_range(n, 1, 64);
    assert_int_equal(gi_platform_candidates(&one, 0), 0);
    assert_string_equal(one.device, "untouched");
    assert_int_equal(gi_platform_candidates(&one, 1), 1);
    assert_string_equal(one.device, all[0].device);
}

TEST(proc_finds_entry_points)
{
    struct gi_platform *platform = open_device(default_device);
    assert_true(gi_platform_proc(platform, "glDispatchCompute") != NULL);
    assert_true(gi_platform_proc(platform, "eglCreateSyncKHR") != NULL);
    gi_platform_close(platform);
}

//-- poorer drivers ----------------------------------------------------------------------------

TEST(egl_1_4_is_enough)
{
    const struct gi_platform_params params = {
        .device = default_device, .allow_software = true, .debug = true};
    fake_egl.is_client_1_4 = true;
    fake_egl.is_display_1_4 = true;
    fake_egl.refused[0] = EGL_CONTEXT_OPENGL_DEBUG;
    struct gi_platform *platform = gi_platform_open(&params, NULL);
    assert_non_null(platform);
    assert_int_equal(gi_platform_describe(platform)->egl_minor, 4);
    assert_true(gi_platform_describe(platform)->is_debug);
    assert_computes(platform);
    gi_platform_close(platform);
    fake_egl.hidden[0] = "EGL_EXT_platform_base";
    assert_refused(default_device, GLINFER_STATUS_NO_DEVICE, "libEGL has no EGL_EXT_platform_base");
}

TEST(features_that_are_refused_are_left_out)
{
    const struct gi_platform_params params = {
        .device = default_device, .allow_software = true, .debug = true, .low_priority = true};
    fake_egl.refused[0] = EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT;
    struct gi_platform *platform = gi_platform_open(&params, NULL);
    assert_non_null(platform);
    assert_false(gi_platform_describe(platform)->is_robust);
    assert_true(gi_platform_describe(platform)->is_debug);
    gi_platform_close(platform);

    fake_egl.refused[1] = EGL_CONTEXT_OPENGL_DEBUG;
    fake_egl.refused[2] = EGL_CONTEXT_FLAGS_KHR;
    platform = gi_platform_open(&params, NULL);
    assert_non_null(platform);
    assert_false(gi_platform_describe(platform)->is_debug);
    assert_computes(platform);
    gi_platform_close(platform);
}

TEST(a_context_that_flushes_on_release_is_enough)
{
    const struct gi_platform_params params = {
        .device = default_device, .allow_software = true, .debug = true};
    fake_egl.refused[0] = EGL_CONTEXT_RELEASE_BEHAVIOR_KHR;
    struct gi_platform *platform = gi_platform_open(&params, NULL);
    assert_non_null(platform);
    assert_true(gi_platform_describe(platform)->is_debug);
    assert_computes(platform);
    gi_platform_close(platform);
}

TEST(robustness_is_not_asked_for_unless_listed)
{
    fake_egl.hidden[0] = "EGL_EXT_create_context_robustness";
    struct gi_platform *platform = open_device(default_device);
    assert_false(gi_platform_describe(platform)->is_robust);
    gi_platform_close(platform);
}

TEST(a_reset_before_any_work_is_not_believed)
{
    fake_egl.reset_status = GL_GUILTY_CONTEXT_RESET;
    struct gi_platform *platform = open_device(default_device);
    assert_false(gi_platform_describe(platform)->is_robust);
    assert_computes(platform);
    gi_platform_close(platform);
}

TEST(es_3_1_alone_is_enough)
{
    fake_egl.newest_minor = 1;
    struct gi_platform *platform = open_device(default_device);
    assert_computes(platform);
    gi_platform_close(platform);
}

TEST(no_create_context_extension_is_enough)
{
    fake_egl.is_display_1_4 = true;
    fake_egl.hidden[0] = "EGL_KHR_create_context";
    fake_egl.refused[0] = EGL_CONTEXT_MINOR_VERSION;
    struct glinfer_error err = {0};
    struct gi_platform *platform = try_open(default_device, &err);
    if (platform == NULL) { // a driver that then gives 3.0
        assert_says(err.message, "compute shaders need 3.1");
    }
    gi_platform_close(platform);
}

TEST(a_context_needs_neither_config_nor_surface)
{
    fake_egl.hidden[0] = "EGL_KHR_no_config_context"; // a config is chosen then
    struct glinfer_error err = {0};
    struct gi_platform *platform = try_open(default_device, &err);
    if (platform == NULL) {
        assert_says(err.message, "EGL_KHR_no_config_context is missing");
    }
    gi_platform_close(platform);
    fake_egl.hidden[1] = "EGL_KHR_surfaceless_context";
    assert_refused(default_device, GLINFER_STATUS_NO_DEVICE,
                   "EGL_KHR_surfaceless_context is missing");
}

TEST(no_context_at_all_is_refused)
{
    fake_egl.refused[0] = EGL_CONTEXT_MAJOR_VERSION;
    assert_refused(default_device, GLINFER_STATUS_NO_DEVICE,
                   "no OpenGL ES context can be created (eglCreateContext: EGL_BAD_ATTRIBUTE)");
}

TEST(a_dead_display_is_refused_by_name)
{
    fake_egl.is_dead = true;
    assert_refused(default_device, GLINFER_STATUS_NO_DEVICE,
                   "(eglInitialize: EGL_NOT_INITIALIZED)");
    assert_refused("auto", GLINFER_STATUS_NO_DEVICE, "surfaceless: the display cannot");
}

TEST(missing_platforms_are_refused_by_name)
{
    fake_egl.hidden[0] = "EGL_MESA_platform_surfaceless";
    fake_egl.hidden[1] = "EGL_EXT_platform_device";
    fake_egl.hidden[2] = "EGL_MESA_platform_gbm";
    fake_egl.hidden[3] = "EGL_KHR_platform_gbm";
    assert_refused("surfaceless", GLINFER_STATUS_NO_DEVICE, "no EGL_MESA_platform_surfaceless");
    assert_refused("egl", GLINFER_STATUS_NO_DEVICE, "egl: libEGL has no EGL_EXT_platform_device");
    assert_refused("egl:0", GLINFER_STATUS_NO_DEVICE, "egl:0: libEGL has no EGL_EXT_platform");
    assert_refused("gbm:/dev/null", GLINFER_STATUS_NO_DEVICE, "no EGL_KHR_platform_gbm");
    assert_refused(NULL, GLINFER_STATUS_NO_DEVICE, "; surfaceless: libEGL has no");
}

int main(void)
{
    if (!find_default()) {
        return 77;
    }
    return run_listed(NULL, NULL, reset_fake, NULL);
}
