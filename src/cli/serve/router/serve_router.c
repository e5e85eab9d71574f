#include "cli/common/cli_io.h"
#include "cli/serve/router/serve_catalog.h"
#include "cli/serve/router/serve_router_state.h"

#include <stdlib.h>
#include <string.h>

//-- visits ----------------------------------------------------------------------------------------

void serve_visit_init(struct serve_visit *visit, struct serve_router *router)
{
    *visit = (struct serve_visit){.router = router};
    serve_mailbox_init(&visit->mailbox);
}

void serve_visit_finish(struct serve_visit *visit)
{
    struct serve_router *router = visit->router;
    pthread_mutex_lock(&router->lock);
    if (visit->state == SERVE_VISIT_WAITS) {
        TAILQ_REMOVE(&router->waiting, visit, place);
        router->n_waiting--;
        if (!visit->model->is_wanted && !serve_router_awaits(router, visit->model)) {
            visit->model->ticket = 0;
        }
    } else if (visit->state == SERVE_VISIT_INSIDE) {
        visit->model->n_users--;
        if (!visit->is_look) {
            visit->model->used = cli_now();
        }
    }
    pthread_cond_signal(&router->changed);
    pthread_mutex_unlock(&router->lock);
    serve_mailbox_finish(&visit->mailbox);
}

// Lets a request in, or queues it. The lock is held. Returns false with an error as the reply.
static bool enter(struct serve_visit *visit, struct serve_model *model, bool loads,
                  struct serve_reply *reply)
{
    struct serve_router *router = visit->router;
    const char *name = serve_model_name(model);
    visit->model = model;
    if (serve_router_is_open(router, model)) {
        serve_visit_admit(visit);
    } else if (!loads && model->state == SERVE_MODEL_UNLOADED) {
        serve_reply_error(reply, 400, "%s is not loaded; POST /models/load loads it", name);
    } else if (router->n_waiting >= router->settings->n_queue) {
        serve_reply_error(reply, 503, "%s is not loaded and %u requests wait: try again later",
                          name, router->n_waiting);
    } else {
        TAILQ_INSERT_TAIL(&router->waiting, visit, place);
        router->n_waiting++;
        visit->state = SERVE_VISIT_WAITS;
        serve_router_want(router, model);
    }
    return visit->state != SERVE_VISIT_NEW;
}

// Finds the model of a call that needs one, and enters it unless the call can be answered without.
// The lock is held. Returns false with a reply.
static bool visit_model(struct serve_visit *visit, const struct serve_call *call, const char *name,
                        struct serve_reply *reply)
{
    struct serve_router *router = visit->router;
    const enum serve_need need = serve_api_need(call);
    const char *word = call->autoload;
    struct serve_model *model =
        router->has_one ? router->own : serve_router_find(router, call, name, reply);
    if (!model) {
        return false;
    }
    const bool is_awake = serve_router_is_open(router, model);
    if (router->is_draining && !is_awake) {
        serve_reply_error(reply, 503, "the server is shutting down");
        return false;
    }
    if ((need == SERVE_NEEDS_FILE && (!router->has_one || !is_awake)) ||
        (visit->is_farewell && !is_awake)) {
        struct serve_api api = model->api;
        api.scheduler = NULL;
        serve_api_handle(&api, call, reply);
        return false;
    }
    visit->is_look = need <= SERVE_NEEDS_STATE;
    if (visit->is_look && !is_awake && serve_api_recall(model->kept, call, reply)) {
        return false;
    }
    return enter(visit, model,
                 word && word[0] ? strcmp(word, "false") != 0 && word[0] != '0'
                                 : !router->settings->no_autoload,
                 reply);
}

// Begins to handle a call. Returns false with a reply.
static bool begin(struct serve_visit *visit, const struct serve_call *call,
                  struct serve_reply *reply)
{
    struct serve_router *router = visit->router;
    char name[SERVE_MAX_NAME] = "";
    if (!router->has_one && serve_router_handle(router, call, reply)) {
        return false;
    }
    if (serve_api_need(call) == SERVE_NEEDS_NOTHING || !serve_router_read(visit, call, name)) {
        serve_api_handle(&router->front, call, reply);
        return false;
    }
    pthread_mutex_lock(&router->lock);
    const bool is_inside = visit_model(visit, call, name, reply);
    pthread_mutex_unlock(&router->lock);
    return is_inside;
}

bool serve_visit_handle(struct serve_visit *visit, const struct serve_call *call,
                        struct serve_reply *reply)
{
    struct serve_router *router = visit->router;
    if (visit->state != SERVE_VISIT_NEW || begin(visit, call, reply)) {
        pthread_mutex_lock(&router->lock);
        const bool is_inside = visit->state == SERVE_VISIT_INSIDE;
        const bool waits = visit->state == SERVE_VISIT_WAITS;
        pthread_mutex_unlock(&router->lock);
        if (waits) {
            return false;
        }
        if (is_inside) {
            serve_api_handle(&visit->model->api, call, reply);
        } else {
            serve_reply_error(reply, visit->status, "%s", visit->failure);
        }
    }
    if (reply->status >= 400 && strncmp(call->path, "/api/", strlen("/api/")) == 0) {
        serve_reply_flatten(reply);
    }
    return true;
}

//-- the server ------------------------------------------------------------------------------------

// Opens the model of -m and --speech-model, if there is one, and finds the others.
static bool open(struct serve_router *router)
{
    struct serve_settings *settings = router->settings;
    const bool has_own = settings->session.model || settings->speech_model;
    router->has_one = has_own && !settings->models_dir && !settings->models_preset;
    if (has_own) {
        router->own = cli_alloc(1, sizeof(*router->own));
        serve_model_init(router->own, settings, router->has_one);
        router->own->state = SERVE_MODEL_LOADING;
        router->own->used = cli_now();
        TAILQ_INSERT_HEAD(&router->models, router->own, place);
    }
    router->front.model_name = router->front.speech_name = router->has_one ? NULL : "";
    if (router->own && !serve_model_open(router->own, router->budget)) {
        return false;
    }
    if (router->own) {
        serve_model_show(router->own);
    }
    return router->has_one || serve_catalog_find(router);
}

struct serve_router *serve_router_create(struct serve_settings *settings)
{
    struct serve_router *router = cli_alloc(1, sizeof(*router));
    router->settings = settings;
    router->budget = settings->session.mem_budget;
    router->front = (struct serve_api){.settings = settings, .started = (int64_t)time(NULL)};
    TAILQ_INIT(&router->models);
    TAILQ_INIT(&router->waiting);
    TAILQ_INIT(&router->downloads);
    pthread_mutex_init(&router->news, NULL);
    pthread_mutex_init(&router->lock, NULL);
    pthread_mutex_init(&router->reload, NULL);
    pthread_cond_init(&router->changed, NULL);
    if (!open(router)) {
        serve_router_destroy(router);
        return NULL;
    }
    const int reason = pthread_create(&router->thread, NULL, serve_router_run, router);
    router->has_thread = reason == 0;
    if (reason != 0) {
        cli_fail(CLI_EXIT_FAILED, "cannot create the thread of the models: %s", strerror(reason));
        serve_router_destroy(router);
        return NULL;
    }
    return router;
}

void serve_router_drain(struct serve_router *router)
{
    struct serve_model *model;
    pthread_mutex_lock(&router->lock);
    router->is_draining = true;
    serve_router_close_news(router);
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (model->api.scheduler) {
            serve_scheduler_drain(model->api.scheduler);
        }
    }
    pthread_cond_signal(&router->changed);
    pthread_mutex_unlock(&router->lock);
}

void serve_router_stop(struct serve_router *router)
{
    struct serve_model *model;
    pthread_mutex_lock(&router->lock);
    router->is_stopped = router->is_draining = true;
    serve_router_close_news(router);
    pthread_cond_signal(&router->changed);
    pthread_mutex_unlock(&router->lock);
    if (router->has_thread) {
        pthread_join(router->thread, NULL);
        router->has_thread = false;
    }
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (model->scheduler) {
            serve_scheduler_stop(model->scheduler);
        }
    }
}

void serve_router_destroy(struct serve_router *router)
{
    if (!router) {
        return;
    }
    serve_router_stop(router);
    for (struct serve_model *model; (model = TAILQ_FIRST(&router->models));) {
        TAILQ_REMOVE(&router->models, model, place);
        serve_model_finish(model);
        free(model);
    }
    serve_router_finish_news(router);
    pthread_mutex_destroy(&router->news);
    pthread_mutex_destroy(&router->reload);
    pthread_cond_destroy(&router->changed);
    pthread_mutex_destroy(&router->lock);
    free(router);
}

const struct serve_api *serve_router_own(struct serve_router *router, bool is_pinned)
{
    if (router->own) {
        router->own->is_pinned = is_pinned;
    }
    return router->own ? &router->own->api : NULL;
}

int serve_router_ready_fd(const struct serve_router *router)
{
    return router->own ? serve_scheduler_ready_fd(router->own->scheduler) : -1;
}

bool serve_router_take_ready(struct serve_router *router)
{
    if (!router->own) {
        return true;
    }
    if (serve_scheduler_state(router->own->scheduler) == SERVE_OVER) {
        return false;
    }
    pthread_mutex_lock(&router->lock);
    router->own->state = SERVE_MODEL_LOADED;
    router->own->used = cli_now();
    serve_model_show(router->own);
    serve_router_tell_state(router, router->own);
    pthread_cond_signal(&router->changed);
    pthread_mutex_unlock(&router->lock);
    return true;
}
