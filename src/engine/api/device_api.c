#include "base/arguments.h"
#include "base/array.h"
#include "base/cache_file.h"
#include "engine/api/call.h"
#include "engine/session/step_executors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct glinfer_device *gi_device_create(const struct glinfer_device_params *params,
                                        const struct gi_settings *settings,
                                        struct glinfer_error *err)
{
    struct glinfer_device *device = gi_array_zeroed(1, sizeof(*device), "a device", err);
    if (!device) {
        return NULL;
    }
    device->settings = *settings;
    bool ok = gi_device_open(device, params, err);
    if (ok) {
        gi_step_executors_prepare_gpu(device->gpu);
        // Kernels that are being worked on make new programs that have an old key.
        device->verdict_folder =
            settings->glsl_dir[0] ? NULL : gi_step_executors_folder(params->cache_dir);
        ok = gi_device_create_programs(device, err);
    }
    if (!ok) {
        gi_device_close(device);
        free(device);
        return NULL;
    }
    return device;
}

struct glinfer_device *glinfer_device_create(const struct glinfer_device_params *params,
                                             struct glinfer_error *err)
{
    struct glinfer_device_params own = {0};
    struct gi_settings settings;
    if (!GI_CHECK(err, GI_COPY(&own, params))) {
        return NULL;
    }
    gi_settings_read(&settings, &(struct gi_log){own.log, own.log_user});
    return gi_device_create(&own, &settings, err);
}

bool glinfer_driver_cache_check(struct glinfer_error *err)
{
    return gi_driver_cache_check(err);
}

bool glinfer_device_set_host(struct glinfer_device *device, const struct glinfer_host_gl *host,
                             struct glinfer_error *err)
{
    struct glinfer_host_gl own = {.struct_size = sizeof(own)};
    if (!GI_CHECK(err, GI_SET(device), GI_SET(host)) || !gi_device_is_free(device, err) ||
        !GI_CHECK(err, GI_COPY(&own, host), GI_SET(host->display))) {
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
    info->max_batch = gi_max_u32(gi_gpu_class(gpu)->max_batch, GI_MAX_BATCH);
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
    struct glinfer_device_params own = *params;
    struct glinfer_error err;
    own.device = name;
    own.allow_software = true;
    own.host = NULL;
    *info = (struct glinfer_device_info){.struct_size = sizeof(*info)};
    copy_text(info->device, sizeof(info->device), name);
    struct glinfer_device *device = gi_device_create(&own, settings, &err);
    if (!device) {
        copy_text(info->refusal, sizeof(info->refusal), skip_device(err.message, name));
        return false;
    }
    fill_info(info, device);
    glinfer_device_destroy(&device);
    return true;
}

size_t glinfer_device_list(const struct glinfer_device_params *params,
                           void (*each)(void *user, const struct glinfer_device_info *info),
                           void *user)
{
    enum { MAX_CANDIDATES = 64 };
    struct glinfer_device_params own = {0};
    if (!GI_CHECK(NULL, GI_COPY(&own, params))) {
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
