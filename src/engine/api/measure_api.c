// The functions of glinfer.h that measure: tuning, profiles, rates.
#include "base/arguments.h"
#include "base/cache_file.h"
#include "engine/api/call.h"
#include "engine/measure/device_rates.h"
#include "engine/measure/profile.h"
#include "engine/measure/tune.h"

#include <errno.h>
#include <string.h>

bool glinfer_tune(struct glinfer_session *session, const struct glinfer_tune_params *params,
                  struct glinfer_tune_stats *stats, struct glinfer_error *err)
{
    struct glinfer_tune_params own = {0};
    struct glinfer_tune_stats full = {0};
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(session), GI_COPY(&own, params), GI_SIZED(stats)) ||
        !gi_call_begin_any(session, &saved, err)) {
        return false;
    }
    gi_session_reset(session);
    const bool ok = gi_tune(session, &own, &full, err);
    if (ok && stats) {
        gi_sized_give(stats, &full, sizeof(full));
    }
    gi_call_leave(session, &saved);
    return ok;
}

size_t glinfer_device_tuning(const struct glinfer_device *device, glinfer_tuned_fn each, void *user)
{
    const size_t n = device ? gi_tuning_count(device->tuning) : 0;
    for (size_t i = 0; each && i < n; i++) {
        struct gi_tuning_key key;
        const char *shape = gi_tuning_at(device->tuning, i, &key);
        const struct glinfer_tuned tuned = gi_tuned_describe(&key, shape);
        each(user, &tuned);
    }
    return n;
}

bool glinfer_device_reset_tuning(struct glinfer_device *device, struct glinfer_error *err)
{
    if (!GI_CHECK(err, GI_SET(device))) {
        return false;
    }
    gi_tuning_clear(device->tuning);
    if (device->verdict_folder && !gi_cache_clear(device->verdict_folder)) {
        return gi_error_set(err, GLINFER_STATUS_IO, "%s cannot be cleared (%s)",
                            device->verdict_folder, strerror(errno));
    }
    return gi_tuning_file_remove(&device->tuning_file, err);
}

bool glinfer_profile(struct glinfer_session *session, const struct glinfer_profile_params *params,
                     struct glinfer_profile_stats *stats, struct glinfer_error *err)
{
    struct glinfer_profile_params own = {0};
    struct glinfer_profile_stats full = {0};
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(session), GI_COPY(&own, params), GI_SIZED(stats)) ||
        !gi_call_begin_any(session, &saved, err)) {
        return false;
    }
    const bool ok = gi_profile(session, &own, &full, err);
    if (ok && stats && !own.on_planned) {
        gi_sized_give(stats, &full, sizeof(full));
    }
    gi_call_leave(session, &saved);
    return ok;
}

bool glinfer_device_measure(struct glinfer_device *device, struct glinfer_device_rates *rates,
                            struct glinfer_error *err)
{
    struct glinfer_device_rates full = {0};
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(device), GI_SET(rates), GI_SIZED(rates)) ||
        !gi_device_enter(device, &saved, err)) {
        return false;
    }
    const bool ok = gi_device_measure(device, &full, err);
    gi_device_leave(device, &saved);
    if (ok) {
        gi_sized_give(rates, &full, sizeof(full));
    }
    gi_call_end(device);
    return ok;
}
