#include "engine/api/call.h"

#include <stdlib.h>

bool gi_call_begin_any(struct glinfer_session *session, struct gi_platform_saved *saved,
                       struct glinfer_error *err)
{
    struct glinfer_device *device = session->model->device;
    if (!gi_session_enter(session, saved, err)) {
        gi_call_end(device);
        return false;
    }
    return true;
}

bool gi_call_begin(struct glinfer_session *session, struct gi_platform_saved *saved,
                   struct glinfer_error *err)
{
    return gi_model_check_text(session->model, err) && gi_call_begin_any(session, saved, err);
}

void gi_call_leave(struct glinfer_session *session, const struct gi_platform_saved *saved)
{
    gi_session_leave(session, saved);
    gi_call_end(session->model->device);
}

//-- the end of objects ----------------------------------------------------------------------------

// Ends the answers that a callback has ended, and destroys a child that was destroyed. Returns
// false if there is no such child.
static bool end_child(const struct glinfer_device *device)
{
    for (struct glinfer_model *model = device->models; model; model = model->next) {
        for (struct glinfer_session *s = model->sessions; s; s = s->next) {
            if (s->is_doomed || s->is_ending) {
                gi_session_end_answer(s);
            }
            if (s->is_doomed) {
                gi_session_destroy(s);
                return true;
            }
        }
        if (model->is_doomed && !model->sessions) {
            gi_model_destroy(model);
            return true;
        }
    }
    return false;
}

void gi_call_end(struct glinfer_device *device)
{
    if (device->is_busy) {
        return;
    }
    while (end_child(device)) {
    }
    if (device->is_doomed && !device->models) {
        gi_device_close(device);
        free(device);
    }
}

void glinfer_session_destroy(struct glinfer_session **session)
{
    struct glinfer_session *self = session ? *session : NULL;
    if (self) {
        *session = NULL;
        self->is_doomed = true;
        if (self->encoder) {
            self->encoder->is_doomed = true;
        }
        glinfer_session_cancel(self); // if it is in a call
        gi_call_end(self->model->device);
    }
}

void glinfer_model_destroy(struct glinfer_model **model)
{
    struct glinfer_model *self = model ? *model : NULL;
    if (self) {
        *model = NULL;
        self->is_doomed = true;
        gi_call_end(self->device);
    }
}

void glinfer_device_destroy(struct glinfer_device **device)
{
    struct glinfer_device *self = device ? *device : NULL;
    if (self) {
        *device = NULL;
        self->is_doomed = true;
        gi_call_end(self);
    }
}
