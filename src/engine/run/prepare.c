#include "engine/run/generate.h"
#include "engine/run/upgrades.h"

#include <string.h>

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
    const size_t known = prepared->struct_size;
    struct glinfer_prepared full = {.struct_size = known};
    uint64_t multi_ns, single_ns;
    full.dispatch = gi_upgrades_recall(session, end, &multi_ns, &single_ns);
    full.multi_ns = (double)multi_ns;
    full.single_ns = (double)single_ns;
    memcpy(prepared, &full, known < sizeof(full) ? known : sizeof(full));
}

bool glinfer_session_prepare(struct glinfer_session *session,
                             const struct glinfer_generate_params *params,
                             struct glinfer_prepared *prepared, struct glinfer_error *err)
{
    const struct glinfer_generate_params own = gi_generation_params(params);
    struct gi_platform_saved saved;
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
