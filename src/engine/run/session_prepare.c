#include "engine/run/generate.h"
#include "engine/run/session_persistent.h"
#include "engine/run/session_tables.h"

#include <string.h>

const char *glinfer_dispatch_name(enum glinfer_dispatch dispatch)
{
    switch (dispatch) {
    case GLINFER_DISPATCH_DIRECT:
        return "direct";
    case GLINFER_DISPATCH_INDIRECT:
        return "indirect";
    case GLINFER_DISPATCH_PERSISTENT:
        return "persistent";
    default:
        return "unknown";
    }
}

static bool prepare(struct glinfer_session *session, const struct glinfer_generate_params *params,
                    struct glinfer_error *err)
{
    const enum gi_step_end end = gi_session_choose_end(session, params);
    const uint32_t tables = gi_session_choose_tables(session, end, params->n_prompt, true);
    return gi_session_prepare(session, tables, params->progress, params->progress_user, err) &&
           gi_session_finish_persistent(session, end, params, err);
}

static void fill_prepared(const struct glinfer_session *session, enum gi_step_end end,
                          struct glinfer_prepared *prepared)
{
    const struct gi_verdict *verdict = &session->persistent[end].verdict;
    const size_t known = prepared->struct_size;
    const struct glinfer_prepared full = {
        .struct_size = known,
        .dispatch = gi_session_dispatch(session, end),
        .ordinary_ns = (double)verdict->ordinary_ns,
        .persistent_ns = (double)verdict->persistent_ns,
    };
    memcpy(prepared, &full, known < sizeof(full) ? known : sizeof(full));
}

bool glinfer_session_prepare(struct glinfer_session *session,
                             const struct glinfer_generate_params *params,
                             struct glinfer_prepared *prepared, struct glinfer_error *err)
{
    const struct glinfer_generate_params own = gi_generation_params(params);
    struct gi_platform_saved saved;
    if (!gi_gpu_enter(session->model->device->gpu, &saved, err)) {
        return false;
    }
    const bool ok = prepare(session, &own, err);
    gi_gpu_leave(session->model->device->gpu, &saved);
    if (ok && prepared) {
        fill_prepared(session, gi_session_choose_end(session, &own), prepared);
    }
    return ok;
}
