#include "engine/api/arguments.h"
#include "engine/run/score.h"
#include "engine/run/session.h"
#include "engine/run/verify.h"

bool glinfer_selftest(struct glinfer_session *session,
                      void (*each)(void *user, const struct glinfer_tested *tested), void *user,
                      struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!GI_CHECK_SET(session, err) ||
        !gi_check_set((const void *)(uintptr_t)each, "each", __func__, err) ||
        !gi_session_enter_call(session, &saved, err)) {
        return false;
    }
    struct gi_tables *tables = &session->tables;
    gi_session_reset(session);
    tables->on_tested = each;
    tables->tested_user = user;
    gi_program_table_doubt(tables->recorder.programs, true);
    gi_scorer_destroy(session->scorer, gi_session_gpu(session));
    session->scorer = NULL;
    gi_verifier_destroy(session->verifier, session);
    session->verifier = NULL;
    const bool ok = gi_tables_prepare_all(tables, err) && gi_scorer_open(session, err);
    gi_program_table_doubt(tables->recorder.programs, false);
    tables->on_tested = NULL;
    gi_session_leave(session, &saved);
    gi_device_end_call(session->model->device);
    return ok;
}
