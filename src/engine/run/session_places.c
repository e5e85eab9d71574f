#include "engine/run/session_places.h"

#include "persistent/persistent_policy.h"

static bool may_place(const struct glinfer_session *session,
                      const struct gi_session_persistent *own)
{
    const struct gi_gpu *gpu = session->model->device->gpu;
    // Who asks for waits of no spins wants no fault before a chain.
    return gi_persistent_ways(own->made) > 1 && !gi_gpu_persistent(gpu)->is_unchecked;
}

bool gi_session_wants_places(const struct glinfer_session *session, enum gi_step_end end,
                             uint32_t n_past)
{
    const struct gi_session_persistent *own = &session->persistent[end];
    return own->phase == GI_PERSISTENT_READY && may_place(session, own) &&
           gi_persistent_wants_places(&own->places, n_past, session->n_ctx - n_past);
}

bool gi_session_place(struct glinfer_session *session, const struct gi_persistent_check *check,
                      struct glinfer_error *err)
{
    struct gi_session_persistent *own = &session->persistent[check->end];
    if (!may_place(session, own)) {
        return true;
    }
    own->places.is_deep = gi_persistent_is_deep(check->n_past);
    uint32_t *way = &own->places.ways[own->places.is_deep];
    return *way > 0 ? gi_persistent_place(own->made, *way, err)
                    : gi_persistent_check_places(session, check, way, err);
}
