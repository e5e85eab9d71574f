#include "cli/run/cli_prompt_cache.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool cli_prompt_cache_check(const struct cli_prompt_cache *cache)
{
    const char *end = cache->path ? strrchr(cache->path, '/') : NULL;
    char folder[4096] = ".";
    if (!cache->path || cache->is_read_only) {
        return true;
    }
    if (end) {
        const size_t size = (size_t)(end - cache->path) + 1;
        snprintf(folder, sizeof(folder), "%.*s", (int)size, cache->path);
    }
    return access(folder, W_OK | X_OK) == 0 ||
           cli_fail(CLI_EXIT_FAILED, "cannot write %s: %s", cache->path, strerror(errno));
}

bool cli_prompt_cache_load(struct cli_prompt_cache *cache, struct glinfer_session *session,
                           const struct cli_ids *ids)
{
    struct glinfer_error err;
    if (!cache->path) {
        return true;
    }
    if (!glinfer_session_load(session, cache->path, &err)) {
        return err.status == GLINFER_STATUS_NOT_FOUND || cli_fail_error(&err);
    }
    size_t n = glinfer_session_match(session, ids->items, ids->count);
    n = n < ids->count ? n : ids->count - 1; // the last one gives the first token of the answer
    cache->n_reused = glinfer_session_rewind(session, n);
    return true;
}

bool cli_prompt_cache_save(const struct cli_prompt_cache *cache, struct glinfer_session *session,
                           const struct cli_ids *ids)
{
    struct glinfer_error err;
    const bool is_known = !cache->has_answers && cache->n_reused + 1 == ids->count;
    if (!cache->path || cache->is_read_only || (is_known && cache->n_reused > 0)) {
        return true;
    }
    if (!cache->has_answers) {
        glinfer_session_rewind(session, glinfer_session_match(session, ids->items, ids->count));
    }
    return glinfer_session_save(session, cache->path, &err) || cli_fail_error(&err);
}
