#include "base/arguments.h"
#include "base/cache_file.h"
#include "base/memory_room.h"
#include "engine/device/device.h"
#include "engine/device/wake.h"
#include "gpu/device/half_probe.h"
#include "ops/gemm/batch_form.h"

#include <stdlib.h>
#include <string.h>

//-- calls -----------------------------------------------------------------------------------------

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

//-- life ------------------------------------------------------------------------------------------

bool gi_device_create_programs(struct glinfer_device *device, struct glinfer_error *err)
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
    return GI_CHECK(err, GI_COPY(&device->host, host), GI_SET(host->display));
}

bool gi_device_open(struct glinfer_device *device, const struct glinfer_device_params *params,
                    struct glinfer_error *err)
{
    device->log = (struct gi_log){params->log, params->log_user};
    device->wake_fd = device->timer_fd = -1;
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
    if (!gi_address_check(gi_room_to_open(), "open a device", err)) {
        return false;
    }
    device->platform = gi_platform_open(&platform, err);
    device->gpu = device->platform ? gi_gpu_create(device->platform, &gpu, err) : NULL;
    if (!device->gpu || !load_tuning(device, params->cache_dir, err)) {
        return false;
    }
    apply_tuning(device);
    device->cache_folder = gi_cache_folder(params->cache_dir, "programs");
    return true;
}

void gi_device_close(struct glinfer_device *device)
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
    return gi_device_create_programs(device, err);
}
