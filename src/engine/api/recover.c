// glinfer_device_recover: a new context, and in it all that the lost one held.
#include "base/arguments.h"
#include "engine/api/call.h"

static void release_children(struct glinfer_device *device)
{
    for (struct glinfer_model *model = device->models; model; model = model->next) {
        for (struct glinfer_session *session = model->sessions; session; session = session->next) {
            gi_session_end_answer(session);
            gi_session_release(session);
        }
        gi_model_release(model);
    }
}

static bool restore_sessions(struct glinfer_model *model, struct glinfer_error *err)
{
    struct gi_gpu *gpu = model->device->gpu;
    struct gi_platform_saved saved;
    bool ok = gi_gpu_enter(gpu, &saved, err);
    if (!ok) {
        return false;
    }
    for (struct glinfer_session *session = model->sessions; ok && session;
         session = session->next) {
        ok = gi_session_restore(session, err);
    }
    gi_gpu_leave(gpu, &saved);
    return ok;
}

bool glinfer_device_recover(struct glinfer_device *device, glinfer_progress_fn progress, void *user,
                            struct glinfer_error *err)
{
    if (!GI_CHECK(err, GI_SET(device)) || !gi_device_is_free(device, err)) {
        return false;
    }
    for (const struct glinfer_model *model = device->models; model; model = model->next) {
        if (!gi_model_can_restore(model, err)) {
            return false;
        }
    }
    device->is_busy = true;
    bool ok = gi_device_reopen(device, release_children, err);
    for (struct glinfer_model *model = device->models; ok && model; model = model->next) {
        ok = gi_model_restore(model, progress, user, err) && restore_sessions(model, err);
    }
    if (!ok) {
        gi_gpu_abandon(device->gpu);
    }
    device->is_busy = false;
    gi_call_end(device);
    return ok;
}
