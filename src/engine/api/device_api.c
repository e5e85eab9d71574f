#include "base/arguments.h"
#include "base/cache_file.h"
#include "base/error.h"
#include "base/memory_room.h"
#include "engine/device/wake.h"
#include "engine/session/session.h"
#include "engine/session/step_executors.h"
#include "gpu/device/half_probe.h"
#include "ops/gemm/batch_form.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gi_device_is_free(const struct glinfer_device *device, struct glinfer_error *err)
{
    if (device->is_busy) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the device is busy: a callback calls back, or two threads use it");
    }
    return gi_platform_is_own(device->platform, err);
}

bool gi_device_enter(struct glinfer_device *device, struct gi_platform_saved *saved,
                     struct glinfer_error *err)
{
    const bool is_entered = gi_device_is_free(device, err) && gi_gpu_enter(device->gpu, saved, err);
    device->is_busy = device->is_busy || is_entered;
    return is_entered;
}

void gi_device_leave(struct glinfer_device *device, const struct gi_platform_saved *saved)
{
    device->is_busy = false;
    gi_gpu_leave(device->gpu, saved);
}

// Ends the answers that a callback has ended, and destroys a child that it has destroyed. False if
// there is none.
static bool end_doomed(const struct glinfer_device *device)
{
    for (struct glinfer_model *model = device->models; model; model = model->next) {
        struct glinfer_session *session = model->sessions;
        while (session && !session->is_doomed) {
            if (session->is_ending) {
                gi_session_end_answer(session);
            }
            session = session->next;
        }
        if (session) {
            glinfer_session_destroy(&session);
            return true;
        }
        if (model->is_doomed && !model->sessions) {
            glinfer_model_destroy(&model);
            return true;
        }
    }
    return false;
}

// The device outlives its children meanwhile.
void gi_device_end_call(struct glinfer_device *device)
{
    const bool is_doomed = device->is_doomed;
    if (device->is_busy) {
        return;
    }
    device->is_doomed = false;
    while (end_doomed(device)) {
    }
    device->is_doomed = is_doomed;
    if (is_doomed && !device->models) {
        glinfer_device_destroy(&device);
    }
}

static bool create_programs(struct glinfer_device *device, struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!gi_gpu_enter(device->gpu, &saved, err)) {
        return false;
    }
    device->programs = gi_program_table_create(device->gpu, err);
    const bool ok = device->programs && gi_half_probe(device->gpu, device->programs, err);
    gi_gpu_leave(device->gpu, &saved);
    return ok;
}

// Takes over what was measured of the device as a whole.
static void apply_tuning(struct glinfer_device *device)
{
    const struct gi_tuning_key dispatch_key = GI_TUNING_DISPATCH, batch_key = GI_TUNING_BATCH;
    const char *dispatch = gi_tuning_find(device->tuning, &dispatch_key);
    const char *batch = gi_tuning_find(device->tuning, &batch_key);
    if (dispatch && gi_gpu_is_dispatch_open(device->gpu)) {
        gi_gpu_set_indirect(device->gpu, strcmp(dispatch, "indirect") == 0);
    }
    if (batch && strcmp(batch, "split") == 0 && gi_batch_is_open(device->gpu)) {
        gi_gpu_set_batch_form(device->gpu, GI_BATCH_FORM_SPLIT);
    }
}

// GLINFER_TUNING, off or a file of other shapes, is for comparing: what is measured under it is
// kept all the same.
static bool load_tuning(struct glinfer_device *device, const char *cache_dir,
                        struct glinfer_error *err)
{
    const char *wanted = device->settings.tuning;
    gi_tuning_file_init(&device->tuning_file, device->gpu, cache_dir);
    device->tuning = gi_tuning_create(err);
    if (!device->tuning || (strcmp(wanted, "off") == 0)) {
        return device->tuning != NULL;
    }
    if (!*wanted) {
        return gi_tuning_file_load(&device->tuning_file, device->tuning, err);
    }
    if (!gi_tuning_file_read(wanted, device->tuning, err)) {
        return false;
    }
    if (gi_tuning_count(device->tuning) == 0) {
        gi_log_write(&device->log, GLINFER_LOG_WARN,
                     "GLINFER_TUNING=%s has no effect: the file holds no shapes", wanted);
    }
    return true;
}

static const struct glinfer_host_gl *find_host(const struct glinfer_device *device)
{
    return device->host.display ? &device->host : NULL;
}

static bool take_host(struct glinfer_device *device, const struct glinfer_device_params *params,
                      struct glinfer_error *err)
{
    const struct glinfer_host_gl *host = params->host;
    if (!host) {
        return true;
    }
    if (params->device && strcmp(params->device, "auto") != 0) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a device has a name and a host: set one of them");
    }
    device->host.struct_size = sizeof(device->host);
    return GI_TAKE(&device->host, host, err) && GI_CHECK_SET(host->display, err);
}

static bool open_device(struct glinfer_device *device, const struct glinfer_device_params *params,
                        struct glinfer_error *err)
{
    device->log = (struct gi_log){params->log, params->log_user};
    if (!take_host(device, params, err)) {
        return false;
    }
    device->may_compile = params->compile_in_background && !params->host;
    if (params->cache_dir) {
        device->cache_dir = strdup(params->cache_dir);
        if (!device->cache_dir) {
            return gi_error_no_memory(err, strlen(params->cache_dir), "a device");
        }
    }
    const struct gi_platform_params platform = {.device = params->device,
                                                .allow_software = params->allow_software,
                                                .debug = params->debug,
                                                .low_priority = params->low_priority,
                                                .log = &device->log,
                                                .host = find_host(device)};
    const struct gi_gpu_params gpu = {
        .cache_dir = params->cache_dir, .log = &device->log, .settings = &device->settings};
    if (!gi_address_check(gi_room_to_open(), "opening a device", err)) {
        return false;
    }
    device->platform = gi_platform_open(&platform, err);
    device->gpu = device->platform ? gi_gpu_create(device->platform, &gpu, err) : NULL;
    if (!device->gpu || !load_tuning(device, params->cache_dir, err)) {
        return false;
    }
    apply_tuning(device);
    gi_step_executors_prepare_gpu(device->gpu);
    device->cache_folder = gi_cache_folder(params->cache_dir, "programs");
    // Kernels that are being worked on make new programs that have an old key.
    device->verdict_folder =
        device->settings.glsl_dir[0] ? NULL : gi_step_executors_folder(params->cache_dir);
    return true;
}

static void close_device(struct glinfer_device *device)
{
    struct gi_platform_saved saved;
    if (device->gpu && gi_gpu_enter_last(device->gpu, &saved)) {
        gi_program_table_destroy(device->programs);
        gi_gpu_leave(device->gpu, &saved);
    }
    gi_tuning_destroy(device->tuning);
    gi_tuning_file_finish(&device->tuning_file);
    free(device->cache_dir);
    free(device->cache_folder);
    free(device->verdict_folder);
    gi_gpu_destroy(device->gpu);
    gi_platform_close(device->platform);
    gi_wake_close(device);
}

struct glinfer_device *gi_device_create(const struct glinfer_device_params *params,
                                        const struct gi_settings *settings,
                                        struct glinfer_error *err)
{
    struct glinfer_device *device = calloc(1, sizeof(*device));
    if (!device) {
        gi_error_no_memory(err, sizeof(*device), "a device");
        return NULL;
    }
    device->settings = *settings;
    device->wake_fd = device->timer_fd = -1;
    if (!open_device(device, params, err) || !create_programs(device, err)) {
        glinfer_device_destroy(&device);
    }
    return device;
}

struct glinfer_device *glinfer_device_create(const struct glinfer_device_params *params,
                                             struct glinfer_error *err)
{
    struct glinfer_device_params own = {0};
    struct gi_settings settings;
    if (!GI_TAKE(&own, params, err)) {
        return NULL;
    }
    gi_settings_read(&settings, &(struct gi_log){own.log, own.log_user});
    return gi_device_create(&own, &settings, err);
}

bool glinfer_driver_cache_check(struct glinfer_error *err)
{
    return gi_driver_cache_check(err);
}

void glinfer_device_destroy(struct glinfer_device **device)
{
    struct glinfer_device *self = device ? *device : NULL;
    if (!self) {
        return;
    }
    *device = NULL;
    if (self->models || self->is_busy) {
        self->is_doomed = true;
        return;
    }
    close_device(self);
    free(self);
}

//-- again -----------------------------------------------------------------------------------------

static bool release_all(struct glinfer_device *device,
                        void (*release)(struct glinfer_device *device), struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    // Nothing is current where a lost context cannot be entered any more: its names mean nothing in
    // the new one, or are the host's there.
    if (!gi_platform_enter_last(device->platform, &saved)) {
        return gi_error_set(err, GLINFER_STATUS_DRIVER, "the current context cannot be exchanged");
    }
    release(device);
    gi_program_table_destroy(device->programs);
    device->programs = NULL;
    gi_gpu_release(device->gpu);
    gi_platform_leave(device->platform, &saved);
    return true;
}

bool gi_device_reopen(struct glinfer_device *device, void (*release)(struct glinfer_device *device),
                      struct glinfer_error *err)
{
    const struct gi_platform_info *info = gi_gpu_platform(device->gpu);
    const struct gi_platform_params params = {.device = info->device,
                                              .allow_software = info->is_software,
                                              .debug = info->is_debug,
                                              .log = &device->log,
                                              .host = find_host(device)};
    struct gi_platform *platform = gi_platform_open(&params, err);
    if (!platform || !release_all(device, release, err)) {
        gi_platform_close(platform);
        return false;
    }
    gi_platform_close(device->platform);
    device->platform = platform;
    if (!gi_gpu_restore(device->gpu, platform, err)) {
        return false;
    }
    apply_tuning(device);
    return create_programs(device, err);
}

bool glinfer_device_set_host(struct glinfer_device *device, const struct glinfer_host_gl *host,
                             struct glinfer_error *err)
{
    struct glinfer_host_gl own = {.struct_size = sizeof(own)};
    if (!GI_CHECK_SET(device, err) || !GI_CHECK_SET(host, err) || !gi_device_is_free(device, err) ||
        !GI_TAKE(&own, host, err) || !GI_CHECK_SET(host->display, err)) {
        return false;
    }
    if (!device->host.display) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the device was not created with a host's GL");
    }
    device->host = own;
    gi_platform_abandon(device->platform);
    gi_gpu_abandon(device->gpu);
    return true;
}

//-- description ---------------------------------------------------------------------------------

static void copy_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%.*s", (int)size - 1, text);
}

static void fill_cache_refusal(struct glinfer_device_info *info, const char *folder)
{
    const size_t size = sizeof(info->cache_refusal);
    info->cache_refusal[0] = '\0';
    if (!folder) {
        snprintf(info->cache_refusal, size, "there is no folder for it");
    } else if (!gi_cache_check(folder)) {
        snprintf(info->cache_refusal, size, "%.400s cannot be written (%s)", folder,
                 strerror(errno));
    }
}

static void fill_info(struct glinfer_device_info *info, const struct glinfer_device *device)
{
    const struct gi_gpu *gpu = device->gpu;
    const struct gi_platform_info *platform = gi_gpu_platform(gpu);
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    copy_text(info->device, sizeof(info->device), platform->device);
    copy_text(info->renderer, sizeof(info->renderer), platform->renderer);
    copy_text(info->vendor, sizeof(info->vendor), platform->vendor);
    copy_text(info->version, sizeof(info->version), platform->version);
    info->is_software = platform->is_software;
    info->is_indirect = limits->is_indirect;
    info->has_timer_query = limits->has_timer_query;
    info->has_subgroups = limits->has_subgroups;
    info->has_program_binary = limits->n_binary_formats > 0;
    info->max_storage_blocks = limits->max_storage_blocks;
    info->max_storage_block_size = limits->max_storage_block_size;
    info->storage_alignment = limits->storage_alignment;
    info->max_invocations = limits->max_invocations;
    info->max_shared_size = limits->max_shared_size;
    info->max_uniform_block_size = limits->max_uniform_block_size;
    info->uniform_alignment = limits->uniform_alignment;
    info->max_group_count = limits->max_group_count[0];
    info->has_fast_half = limits->has_fast_half;
    info->dispatches = gi_step_executors_ways(gpu);
    info->n_tuned = (uint32_t)gi_tuning_count(device->tuning);
    gi_quirks_print(gi_gpu_quirks(gpu), info->quirks, sizeof(info->quirks));
    fill_cache_refusal(info, device->cache_folder);
    if (info->has_fast_half) {
        copy_text(info->half_refusal, sizeof(info->half_refusal),
                  gi_program_half_refusal(device->programs));
    }
}

void glinfer_device_describe(const struct glinfer_device *device, struct glinfer_device_info *info)
{
    struct glinfer_device_info full = {0};
    if (device && info) {
        fill_info(&full, device);
        gi_sized_give(info, &full, sizeof(full));
    }
}

// A refusal without what the list says anyway: "no usable GPU: gbm: ".
static const char *skip_device(const char *message, const char *name)
{
    const char *found = strstr(message, name);
    const char *colon = found ? found + strlen(name) : message;
    return strncmp(colon, ": ", 2) == 0 ? colon + 2 : message;
}

// Opens one candidate, whatever its renderer, and describes it or its refusal.
static bool try_candidate(const struct glinfer_device_params *params,
                          const struct gi_settings *settings, const char *name,
                          struct glinfer_device_info *info)
{
    struct glinfer_device device = {.settings = *settings, .wake_fd = -1, .timer_fd = -1};
    struct glinfer_device_params own = *params;
    struct glinfer_error err;
    own.device = name;
    own.allow_software = true;
    own.host = NULL;
    memset(info, 0, sizeof(*info));
    info->struct_size = sizeof(*info);
    copy_text(info->device, sizeof(info->device), name);
    const bool ok = open_device(&device, &own, &err) && create_programs(&device, &err);
    if (ok) {
        fill_info(info, &device);
    } else {
        copy_text(info->refusal, sizeof(info->refusal), skip_device(err.message, name));
    }
    close_device(&device);
    return ok;
}

size_t glinfer_device_list(const struct glinfer_device_params *params,
                           void (*each)(void *user, const struct glinfer_device_info *info),
                           void *user)
{
    enum { MAX_CANDIDATES = 64 };
    struct glinfer_device_params own = {0};
    if (!GI_TAKE(&own, params, NULL)) {
        return 0;
    }
    struct gi_platform_candidate candidates[MAX_CANDIDATES];
    size_t n = gi_platform_candidates(candidates, MAX_CANDIDATES);
    n = n > MAX_CANDIDATES ? MAX_CANDIDATES : n;
    if (own.device && strcmp(own.device, "auto") != 0) {
        copy_text(candidates[0].device, sizeof(candidates[0].device), own.device);
        n = 1;
    }
    size_t n_usable = 0;
    struct gi_settings settings;
    gi_settings_read(&settings, &(struct gi_log){own.log, own.log_user});
    for (size_t i = 0; i < n; i++) {
        struct glinfer_device_info info;
        n_usable += try_candidate(&own, &settings, candidates[i].device, &info);
        if (each) {
            each(user, &info);
        }
    }
    return n_usable;
}
