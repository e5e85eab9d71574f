// The thread of a router: it loads models, unloads them, puts them to sleep, and lets requests in.
#include "cli/common/cli_io.h"
#include "cli/serve/router/serve_router_state.h"

#include <stdlib.h>

enum {
    PATIENCE_S = 5, // of a model that waits for another one with requests, before this gets no more
    LOOK_MS = 250,  // between two looks at the clock
};

//-- models ----------------------------------------------------------------------------------------

void serve_router_want(struct serve_router *router, struct serve_model *model)
{
    if (model->ticket == 0) {
        model->ticket = ++router->n_tickets;
    }
    pthread_cond_signal(&router->changed);
}

// Returns true if a model is being loaded while the server starts.
static bool is_first(const struct serve_model *model)
{
    return model->state == SERVE_MODEL_LOADING && model->api.scheduler;
}

// Returns true if a model takes requests.
bool serve_router_is_open(const struct serve_router *router, const struct serve_model *model)
{
    return (model->state == SERVE_MODEL_LOADED && model->leaves == 0 && router->victim != model) ||
           (router->has_one && is_first(model));
}

// Returns true if a model has memory of the device.
// Returns true if a model has memory of the device.
static bool is_there(const struct serve_model *model)
{
    return model->state == SERVE_MODEL_LOADED || model->state == SERVE_MODEL_LEAVING ||
           is_first(model);
}

// Returns the loaded model that was idle for longest; is_busy: that was used longest ago.
static struct serve_model *find_oldest(struct serve_router *router, bool is_busy)
{
    struct serve_model *model, *oldest = NULL;
    TAILQ_FOREACH(model, &router->models, place)
    {
        const bool can_leave = model->state == SERVE_MODEL_LOADED && !model->is_pinned &&
                               (is_busy || model->n_users == 0);
        if (can_leave && (!oldest || model->used < oldest->used)) {
            oldest = model;
        }
    }
    return oldest;
}

// Returns the number of bytes that the models need that are loaded, and the number of those that
// can leave.
static uint64_t count_needed(struct serve_router *router, int64_t *n)
{
    struct serve_model *model;
    uint64_t needed = 0;
    *n = 0;
    TAILQ_FOREACH(model, &router->models, place)
    {
        needed += is_there(model) ? model->needed : 0;
        *n += is_there(model) && !model->is_pinned;
    }
    return needed;
}

// Returns true for a model that no other has to leave for: it would not fit alone.
static bool is_hopeless(const struct serve_router *router, const struct serve_model *model)
{
    return router->budget > 0 && model->needed > router->budget;
}

static bool has_room(struct serve_router *router, const struct serve_model *wanted)
{
    int64_t n;
    const uint64_t budget = router->budget, needed = count_needed(router, &n);
    const int64_t most = router->settings->models_max;
    const bool has_bytes = budget == 0 || (needed < budget && wanted->needed <= budget - needed);
    return n == 0 || is_hopeless(router, wanted) || ((most == 0 || n < most) && has_bytes);
}

bool serve_router_awaits(const struct serve_router *router, const struct serve_model *model)
{
    const struct serve_visit *visit;
    TAILQ_FOREACH(visit, &router->waiting, place)
    {
        if (visit->model == model) {
            return true;
        }
    }
    return false;
}

// Lets a request in.
void serve_visit_admit(struct serve_visit *visit)
{
    visit->state = SERVE_VISIT_INSIDE;
    visit->model->n_users++;
    if (!visit->is_look) { // the last request that came counts, in whatever order they end
        visit->model->used = cli_now();
        visit->model->has_keep = visit->has_keep;
        visit->model->keep_s = visit->keep_s;
    }
}

static void fail_visit(struct serve_router *router, struct serve_visit *visit, unsigned status,
                       const char *why)
{
    const struct serve_event event = {.kind = SERVE_EVENT_FAIL};
    visit->state = SERVE_VISIT_FAILED;
    visit->status = status;
    snprintf(visit->failure, sizeof(visit->failure), "%.1000s", why);
    TAILQ_REMOVE(&router->waiting, visit, place);
    router->n_waiting--;
    serve_mailbox_send(&visit->mailbox, &event, NULL, NULL);
}

void serve_router_fail(struct serve_router *router, const struct serve_model *model,
                       unsigned status, const char *why)
{
    struct serve_visit *visit = TAILQ_FIRST(&router->waiting), *next;
    for (; visit; visit = next) {
        next = TAILQ_NEXT(visit, place);
        if (!model || visit->model == model) {
            fail_visit(router, visit, status, why);
        }
    }
}

// Lets the requests in that wait for a model that takes them.
static void let_in(struct serve_router *router)
{
    const struct serve_event event = {.kind = SERVE_EVENT_START};
    struct serve_visit *visit = TAILQ_FIRST(&router->waiting), *next;
    for (; visit; visit = next) {
        next = TAILQ_NEXT(visit, place);
        if (serve_router_is_open(router, visit->model)) {
            serve_visit_admit(visit);
            visit->model->ticket = 0;
            TAILQ_REMOVE(&router->waiting, visit, place);
            router->n_waiting--;
            serve_mailbox_send(&visit->mailbox, &event, NULL, NULL);
        }
    }
}

//-- the thread ------------------------------------------------------------------------------------

static void report(struct serve_router *router, const struct serve_model *model, const char *news)
{
    serve_router_tell_state(router, model);
    if (!cli_is_quiet()) {
        cli_say("%s %s", serve_model_name(model), news);
    }
}

static void unload(struct serve_router *router, struct serve_model *model,
                   enum serve_model_state next)
{
    const bool sleeps = next == SERVE_MODEL_SLEEPING;
    model->state = SERVE_MODEL_LEAVING;
    pthread_mutex_unlock(&router->lock);
    struct serve_reply *kept = sleeps ? serve_model_tell(model) : NULL;
    pthread_mutex_lock(&router->lock);
    serve_api_forget(model->kept);
    model->kept = kept;
    model->api.scheduler = NULL;
    pthread_mutex_unlock(&router->lock);
    serve_model_close(model);
    pthread_mutex_lock(&router->lock);
    model->state = next;
    report(router, model, sleeps ? "sleeps" : "is unloaded");
    model->leaves = 0;
    router->victim = router->victim == model ? NULL : router->victim;
    model->is_cut = false;
    if (serve_router_awaits(router, model)) {
        serve_router_want(router, model);
    }
}

// Unloads a model that is to be unloaded; cuts the answers of one that they keep for too long.
static bool unload_one(struct serve_router *router)
{
    struct serve_model *model;
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (model->state == SERVE_MODEL_LOADED && model->leaves > 0 && model->n_users == 0) {
            unload(router, model, SERVE_MODEL_UNLOADED);
            return true;
        }
        if (model->leaves > 0 && !model->is_cut && cli_now() > model->leaves) {
            model->is_cut = true;
            pthread_mutex_unlock(&router->lock);
            serve_scheduler_stop(model->scheduler);
            pthread_mutex_lock(&router->lock);
            return true;
        }
    }
    return false;
}

// Returns the seconds after which an idle model leaves; less than 0: it stays.
static double idle_limit(const struct serve_model *model)
{
    return model->state != SERVE_MODEL_LOADED || model->is_pinned ? -1
           : model->has_keep                                      ? model->keep_s
                             : (double)model->settings->sleep_s;
}

// Puts a model to sleep that was idle for as long as its setting says, or unloads it after the time
// that its last request gave.
static bool lull_one(struct serve_router *router)
{
    struct serve_model *model;
    TAILQ_FOREACH(model, &router->models, place)
    {
        const double limit = idle_limit(model);
        if (limit >= 0 && model->n_users == 0 && cli_now() - model->used >= limit) {
            const bool sleeps = !model->has_keep || router->has_one;
            model->has_keep = false;
            unload(router, model, sleeps ? SERVE_MODEL_SLEEPING : SERVE_MODEL_UNLOADED);
            return true;
        }
    }
    return false;
}

// Frees a model that has left the place where it was found.
static bool drop_one(struct serve_router *router)
{
    struct serve_model *model;
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (model->is_gone && model->n_users == 0 && model->ticket == 0 && !model->is_downloading &&
            !is_there(model)) {
            TAILQ_REMOVE(&router->models, model, place);
            serve_model_finish(model);
            free(model);
            return true;
        }
    }
    return false;
}

static bool is_short_of_memory(const struct glinfer_error *err)
{
    return err->status == GLINFER_STATUS_OVER_BUDGET || err->status == GLINFER_STATUS_NO_MEMORY;
}

static void load(struct serve_router *router, struct serve_model *model)
{
    int64_t n;
    struct glinfer_error err = {.message = "unknown reason"};
    char why[1200];
    const uint64_t taken = count_needed(router, &n), budget = router->budget;
    const bool has_all = is_hopeless(router, model); // so that the error tells the whole budget
    const uint64_t left = has_all          ? budget
                          : budget > taken ? budget - taken
                                           : budget > 0; // a byte where none is left
    const enum serve_model_state before = model->state;
    model->state = SERVE_MODEL_LOADING;
    model->is_wanted = false;
    serve_router_tell_state(router, model);
    pthread_mutex_unlock(&router->lock);
    cli_keep_failures(&err);
    const bool is_done = serve_model_open(model, left) && serve_model_wait(model, &err);
    cli_keep_failures(NULL);
    if (!is_done) {
        serve_model_close(model);
    }
    pthread_mutex_lock(&router->lock);
    model->state = is_done ? SERVE_MODEL_LOADED : before;
    model->used = cli_now();
    model->has_failed = !is_done;
    const bool is_short = !is_done && n > 0 && !has_all && is_short_of_memory(&err);
    struct serve_model *oldest = is_short ? find_oldest(router, false) : NULL;
    if (oldest) { // the model keeps its turn
        unload(router, oldest, SERVE_MODEL_UNLOADED);
        return;
    }
    model->ticket = 0;
    if (is_done) {
        serve_model_show(model);
        serve_api_forget(model->kept);
        model->kept = NULL;
        report(router, model, "is loaded");
    } else {
        snprintf(why, sizeof(why), "cannot load %s: %s", serve_model_name(model), err.message);
        serve_router_tell_state(router, model);
        serve_router_fail(router, model, is_short ? 503 : 500, why);
    }
}

// Loads the model whose turn it is, or makes room for it.
static bool load_one(struct serve_router *router)
{
    struct serve_model *model, *next = NULL;
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (model->ticket > 0 && !model->is_downloading && !serve_router_is_open(router, model) &&
            router->victim != model && (!next || model->ticket < next->ticket)) {
            next = model;
        }
    }
    if (!next || is_there(next)) { // none, or one that is about to leave
        router->victim = next ? router->victim : NULL;
        router->blocked = next ? router->blocked : 0;
        return false;
    }
    if (serve_download_for(router, next)) {
        return true;
    }
    struct serve_model *oldest = find_oldest(router, false);
    if (has_room(router, next)) {
        router->victim = NULL;
        router->blocked = 0;
        load(router, next);
        return true;
    }
    if (oldest) {
        unload(router, oldest, SERVE_MODEL_UNLOADED);
        return true;
    }
    router->blocked = router->blocked > 0 ? router->blocked : cli_now();
    if (!router->victim && cli_now() - router->blocked >= PATIENCE_S) {
        router->victim = find_oldest(router, true);
    }
    return false;
}

// Returns true if the clock has to be looked at.
static bool is_watching(const struct serve_router *router)
{
    const struct serve_model *model;
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (idle_limit(model) >= 0 || model->leaves > 0 || router->blocked > 0) {
            return true;
        }
    }
    return false;
}

void *serve_router_run(void *user)
{
    struct serve_router *router = user;
    struct timespec until;
    pthread_mutex_lock(&router->lock);
    while (!router->is_stopped) {
        if (router->is_draining) {
            serve_router_fail(router, NULL, 503, "the server is shutting down");
        }
        let_in(router);
        if (unload_one(router) || drop_one(router) || serve_download_reap(router, false) ||
            (!router->is_draining && (load_one(router) || lull_one(router)))) {
            continue;
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        if (is_watching(router)) {
            pthread_cond_timedwait(&router->changed, &router->lock, &until);
        } else {
            pthread_cond_wait(&router->changed, &router->lock);
        }
    }
    serve_router_fail(router, NULL, 503, "the server is shutting down");
    while (serve_download_reap(router, true)) {
    }
    pthread_mutex_unlock(&router->lock);
    return NULL;
}
