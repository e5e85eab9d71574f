// Downloads of a router: each has a thread of its own, so that models are loaded meanwhile.
#include "cli/common/cli_io.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/models/models_pull.h"
#include "cli/serve/router/serve_catalog.h"
#include "cli/serve/router/serve_router_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DOWNLOADS = 8 }; // at a time

struct serve_download {
    TAILQ_ENTRY(serve_download) place;
    struct serve_router *router; // borrowed
    struct serve_model *model;   // that waits for its file, borrowed; NULL: it is a new one
    char *name;                  // of the model, owned
    struct models_source source;
    const char *token; // borrowed
    pthread_t thread;
    atomic_bool is_cancelled;
    // Under the router's lock:
    char *url; // of the file that arrives, owned
    uint64_t done, total;
    bool is_over;  // nobody waits for it
    bool is_ended; // its thread ends
};

static cJSON *make_progress(const struct serve_download *download)
{
    cJSON *json = cJSON_CreateObject();
    if (download->url) {
        cJSON *file = cJSON_AddObjectToObject(json, download->url);
        cJSON_AddNumberToObject(file, "done", (double)download->done);
        cJSON_AddNumberToObject(file, "total", (double)download->total);
    }
    return json;
}

// Notes progress, and tells it. Returns false to cancel the download.
static bool watch(void *user, const char *url, uint64_t done, uint64_t total)
{
    struct serve_download *download = user;
    struct serve_router *router = download->router;
    if (!url) {
        return !atomic_load(&download->is_cancelled);
    }
    pthread_mutex_lock(&router->lock);
    if (!download->url || strcmp(download->url, url) != 0) {
        free(download->url);
        download->url = cli_copy(url);
    }
    download->done = done;
    download->total = total;
    cJSON *progress = make_progress(download);
    pthread_mutex_unlock(&router->lock);
    serve_router_tell(router, download->name, "download_progress", progress);
    return !atomic_load(&download->is_cancelled);
}

// Gives the file to the model that waits for it, or fails the requests for it. The lock is held.
static void hand_over(struct serve_download *download, const char *path,
                      const struct glinfer_error *why)
{
    struct serve_model *model = download->model;
    struct glinfer_error err;
    char text[1200];
    model->is_downloading = false;
    if (path) {
        model->path = cli_copy(path);
        if (!serve_model_inspect(model, &err)) { // loading tells what is wrong
            model->info = (struct glinfer_model_info){0};
        }
        return;
    }
    model->has_failed = true;
    model->is_wanted = false;
    model->ticket = 0;
    snprintf(text, sizeof(text), "cannot load %s: %s", serve_model_name(model), why->message);
    serve_router_fail(download->router, model, 500, text);
    serve_router_tell_state(download->router, model);
}

static void *run(void *user)
{
    struct serve_download *download = user;
    struct serve_router *router = download->router;
    struct glinfer_error err = {.message = "unknown reason"};
    char path[MODELS_MAX_PATH];
    const struct models_asked asked = {.token = download->token};
    models_watch(watch, download);
    cli_keep_failures(&err);
    const bool is_done = models_pull(&download->source, download->name, &asked, path);
    cli_keep_failures(NULL);
    pthread_mutex_lock(&router->lock);
    download->is_over = true;
    if (download->model) {
        hand_over(download, is_done ? path : NULL, &err);
    }
    pthread_mutex_unlock(&router->lock);
    if (is_done && !download->model) {
        (void)serve_catalog_reload(router, &err);
    }
    cJSON *data = cJSON_CreateObject();
    if (!is_done) {
        cJSON_AddStringToObject(data, "message", err.message);
    }
    serve_router_tell(router, download->name, is_done ? "download_finished" : "download_failed",
                      data);
    pthread_mutex_lock(&router->lock);
    download->is_ended = true;
    pthread_cond_signal(&router->changed);
    pthread_mutex_unlock(&router->lock);
    return NULL;
}

// Starts one. The lock is held. Returns false with the reason.
static bool start(struct serve_router *router, const char *name, struct serve_model *model,
                  const struct models_source *source, char why[160])
{
    size_t n = 0;
    struct serve_download *download;
    TAILQ_FOREACH(download, &router->downloads, place)
    {
        n++;
    }
    download = cli_alloc(1, sizeof(*download));
    *download = (struct serve_download){
        .router = router,
        .model = model,
        .name = cli_copy(name),
        .source = *source,
        .token = (model ? model->settings : router->settings)->session.hub.token,
    };
    const int reason =
        n < MOST_DOWNLOADS ? pthread_create(&download->thread, NULL, run, download) : EAGAIN;
    if (reason != 0) {
        snprintf(why, 160, "cannot fetch %.60s: %s", name,
                 n < MOST_DOWNLOADS ? strerror(reason) : "others are under way");
        free(download->name);
        free(download);
        return false;
    }
    TAILQ_INSERT_TAIL(&router->downloads, download, place);
    return true;
}

bool serve_download_for(struct serve_router *router, struct serve_model *model)
{
    char why[256], path[MODELS_MAX_PATH];
    struct models_source source;
    const struct serve_settings *settings = model->settings;
    const char *word = settings->session.model ? settings->session.model : settings->speech_model;
    if (!model->origin || model->path || settings->session.hub.is_offline ||
        !models_source_read(&source, word, why, sizeof(why)) ||
        (source.kind != MODELS_HUB && source.kind != MODELS_URL)) {
        return false;
    }
    const bool is_here = models_cache_find(&source, path, NULL, 0);
    model->path = is_here ? cli_copy(path) : NULL;
    model->is_downloading = !is_here && start(router, serve_model_name(model), model, &source, why);
    if (model->is_downloading) {
        serve_router_tell_state(router, model);
    }
    return model->is_downloading;
}

static struct serve_download *find(struct serve_router *router, const char *name)
{
    struct serve_download *download;
    TAILQ_FOREACH(download, &router->downloads, place)
    {
        if (!download->is_over && strcmp(download->name, name) == 0) {
            return download;
        }
    }
    return NULL;
}

bool serve_download_cancel(struct serve_router *router, const char *name)
{
    struct serve_download *download = find(router, name);
    if (download) {
        atomic_store(&download->is_cancelled, true);
    }
    return download;
}

void serve_download_list(struct serve_router *router, cJSON *list)
{
    const struct serve_download *download;
    TAILQ_FOREACH(download, &router->downloads, place)
    {
        if (download->model || download->is_over) {
            continue;
        }
        cJSON *json = cli_json_append(list);
        cJSON_AddStringToObject(json, "id", download->name);
        cJSON_AddStringToObject(json, "object", "model");
        cJSON_AddStringToObject(json, "owned_by", "glinfer");
        cJSON *status = cJSON_AddObjectToObject(json, "status");
        cJSON_AddStringToObject(status, "value", "downloading");
        cJSON_AddItemToObject(status, "progress", make_progress(download));
    }
}

bool serve_download_reap(struct serve_router *router, bool is_end)
{
    struct serve_download *download;
    TAILQ_FOREACH(download, &router->downloads, place)
    {
        atomic_store(&download->is_cancelled, is_end || atomic_load(&download->is_cancelled));
    }
    TAILQ_FOREACH(download, &router->downloads, place)
    {
        if (is_end || download->is_ended) {
            TAILQ_REMOVE(&router->downloads, download, place);
            pthread_mutex_unlock(&router->lock);
            pthread_join(download->thread, NULL);
            pthread_mutex_lock(&router->lock);
            free(download->url);
            free(download->name);
            free(download);
            return true;
        }
    }
    return false;
}

//-- calls -----------------------------------------------------------------------------------------

void serve_download_post(struct serve_router *router, const struct serve_call *call,
                         struct serve_reply *reply)
{
    char why[256];
    struct models_source source;
    cJSON *body = cli_json_parse_all(call->body, call->body_size, NULL);
    const char *name = cli_json_get_text(body, "model");
    const bool is_known = name && name[0] && models_source_read(&source, name, why, sizeof(why)) &&
                          (source.kind == MODELS_HUB || source.known);
    pthread_mutex_lock(&router->lock);
    if (!name || !name[0]) {
        serve_reply_error(reply, 400, "missing \"model\": USER/REPO:QUANT of the hub");
    } else if (!is_known && !models_source_read_hub(&source, name, NULL, why, sizeof(why))) {
        serve_reply_error(reply, 400, "invalid model %.200s: expected USER/REPO:QUANT of the hub",
                          name);
    } else if (router->settings->session.hub.is_offline) {
        serve_reply_error(reply, 400, "cannot fetch %.200s: --offline was given", name);
    } else if (serve_router_find_named(router, name) || find(router, name)) {
        serve_reply_error(reply, 400, "model %.200s already exists", name);
    } else if (!start(router, name, NULL, &source, why)) {
        serve_reply_error(reply, 503, "%s", why);
    } else {
        serve_reply_success(reply);
    }
    pthread_mutex_unlock(&router->lock);
    cJSON_Delete(body);
}

// Writes the path of a model that was pulled and that neither a preset nor a flag names. Returns
// false with an error as the reply. Takes the lock.
static bool find_pulled(struct serve_router *router, const char *name, char path[MODELS_MAX_PATH],
                        struct serve_reply *reply)
{
    pthread_mutex_lock(&router->lock);
    const struct serve_model *model = serve_router_find_named(router, name);
    const struct serve_settings *settings = model ? model->settings : NULL;
    const bool is_own =
        model && model->origin && model->path &&
        (settings->session.model == model->path || settings->speech_model == model->path);
    if (!model) {
        serve_reply_unknown(reply, name);
    } else if (!is_own) {
        serve_reply_error(reply, 400, "cannot remove %.200s: a preset or a flag names it", name);
    } else {
        snprintf(path, MODELS_MAX_PATH, "%s", model->path);
    }
    pthread_mutex_unlock(&router->lock);
    return is_own;
}

void serve_download_delete(struct serve_router *router, const struct serve_call *call,
                           struct serve_reply *reply)
{
    char path[MODELS_MAX_PATH], own[MODELS_MAX_PATH];
    struct glinfer_error err = {.message = "it is not in the cache"};
    struct models_list list = {0};
    bool is_done = false;
    const char *name = call->model;
    if (!name || !name[0]) {
        serve_reply_error(reply, 400, "missing model in the query: DELETE /models?model=NAME");
        return;
    }
    pthread_mutex_lock(&router->lock);
    const bool is_cancelled = serve_download_cancel(router, name);
    pthread_mutex_unlock(&router->lock);
    if (is_cancelled) {
        serve_reply_success(reply);
        return;
    }
    if (!find_pulled(router, name, path, reply)) {
        return;
    }
    cli_keep_failures(&err);
    const bool is_listed = models_cache_list(&list);
    for (size_t i = 0; is_listed && i < list.count; i++) {
        if (models_cache_path(list.items[i].place, own) && strcmp(own, path) == 0) {
            is_done = models_cache_remove(&list.items[i]);
        }
    }
    cli_keep_failures(NULL);
    models_list_finish(&list);
    if (!is_done || !serve_catalog_reload(router, &err)) {
        serve_reply_error(reply, is_done ? 500 : 400, "cannot remove %.200s: %s", name,
                          err.message);
        return;
    }
    serve_reply_success(reply);
}
