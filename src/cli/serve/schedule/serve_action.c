#include "cli/serve/schedule/serve_action.h"

#include "cli/common/cli_io.h"

#include <sys/stat.h>

static bool run(const struct serve_action *action, struct glinfer_session *session,
                struct glinfer_error *err)
{
    if (action->kind == SERVE_ACTION_SAVE) {
        return glinfer_session_save(session, action->path, err);
    }
    if (action->kind == SERVE_ACTION_RESTORE) {
        glinfer_session_reset(session);
        return glinfer_session_load(session, action->path, err);
    }
    glinfer_session_reset(session);
    return true;
}

bool serve_action_run(const struct serve_action *action, struct glinfer_session *session,
                      struct serve_action_result *result, struct glinfer_error *err)
{
    struct stat state;
    const double begin = cli_now();
    const size_t n_before = glinfer_session_rewind(session, SIZE_MAX);
    if (!run(action, session, err)) {
        return false;
    }
    const size_t n = glinfer_session_rewind(session, SIZE_MAX);
    result->n_tokens = action->kind == SERVE_ACTION_ERASE ? n_before : n;
    result->size = action->path && stat(action->path, &state) == 0 ? (uint64_t)state.st_size : 0;
    result->ms = 1e3 * (cli_now() - begin);
    return true;
}
