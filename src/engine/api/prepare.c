#include "base/arguments.h"
#include "engine/session/step_executors.h"
#include "engine/session/verify.h"

bool glinfer_session_prepare(struct glinfer_session *session,
                             const struct glinfer_generate_params *params,
                             struct glinfer_prepared *prepared, struct glinfer_error *err)
{
    struct glinfer_generate_params own = {0};
    struct glinfer_prepared full = {0};
    struct gi_platform_saved saved;
    if (!GI_CHECK_SET(session, err) || !GI_TAKE(&own, params, err) ||
        !GI_CHECK_SIZED(prepared, err)) {
        return false;
    }
    struct gi_tables *tables = &session->tables;
    const enum gi_step_end end = gi_tables_choose_end(&own);
    const uint32_t lists = gi_tables_choose(tables, end, own.n_prompt, true);
    if (!gi_session_enter_call(session, &saved, err)) {
        return false;
    }
    const bool ok =
        gi_tables_prepare(tables, lists, own.progress, own.progress_user, err) &&
        gi_step_executors_prepare(session, end, true, own.progress, own.progress_user, err) &&
        gi_verifier_prepare(session, &own, end, err);
    if (ok && prepared) {
        full.dispatch = gi_step_executors_recall(session, end, full.step_ns);
        gi_sized_give(prepared, &full, sizeof(full));
    }
    gi_session_leave(session, &saved);
    gi_device_end_call(session->model->device);
    return ok;
}
