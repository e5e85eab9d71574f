#include "engine/api/sized.h"
#include "engine/run/upgrades.h"

static bool prepare(struct glinfer_session *session, const struct glinfer_generate_params *params,
                    struct glinfer_error *err)
{
    struct gi_tables *tables = &session->tables;
    const enum gi_step_end end = gi_tables_choose_end(params);
    const uint32_t lists = gi_tables_choose(tables, end, params->n_prompt, true);
    return gi_tables_prepare(tables, lists, params->progress, params->progress_user, err) &&
           gi_upgrades_prepare(session, end, true, params->progress, params->progress_user, err);
}

static void fill_prepared(struct glinfer_session *session, enum gi_step_end end,
                          struct glinfer_prepared *prepared)
{
    struct glinfer_prepared full = {0};
    uint64_t multi_ns, single_ns;
    full.dispatch = gi_upgrades_recall(session, end, &multi_ns, &single_ns);
    full.multi_ns = (double)multi_ns;
    full.single_ns = (double)single_ns;
    gi_sized_give(prepared, &full, sizeof(full));
}

bool glinfer_session_prepare(struct glinfer_session *session,
                             const struct glinfer_generate_params *params,
                             struct glinfer_prepared *prepared, struct glinfer_error *err)
{
    struct glinfer_generate_params own = {0};
    struct gi_platform_saved saved;
    gi_sized_take(&own, sizeof(own), params);
    if (!gi_gpu_enter(gi_session_gpu(session), &saved, err)) {
        return false;
    }
    const bool ok = prepare(session, &own, err);
    if (ok && prepared) {
        fill_prepared(session, gi_tables_choose_end(&own), prepared);
    }
    gi_gpu_leave(gi_session_gpu(session), &saved);
    return ok;
}
