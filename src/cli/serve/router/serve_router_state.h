// The state that the files of this folder share.
#pragma once

#include "cli/serve/router/serve_router.h"

#include <cjson/cJSON.h>
#include <pthread.h>

TAILQ_HEAD(serve_models, serve_model);

struct serve_router {
    struct serve_settings *settings; // borrowed
    uint64_t budget;                 // bytes for all models together; 0: unlimited
    struct serve_api front;          // without a model, for paths that need none
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; // for the thread
    pthread_mutex_t reload; // held while models are found again
    // Under the lock:
    struct serve_models models;
    TAILQ_HEAD(, serve_download) downloads;
    TAILQ_HEAD(, serve_visit) waiting; // in the order of their arrival
    uint32_t n_waiting;
    uint64_t n_tickets;
    const struct serve_model *victim; // that gets no new requests, since another model waits
    double blocked;                   // cli_now() since when that one waits; 0: none waits
    struct serve_model *own;          // of -m or --speech-model; NULL: none
    bool has_one;                     // it is the only one
    bool is_draining, is_stopped;

    pthread_mutex_t news; // taken last
    struct {
        struct serve_task **items; // references; owned
        size_t count, capacity;
    } listeners; // to events
};

//-- serve_router_thread.c: the lock is held -------------------------------------------------------

// Notes that a model is to be loaded.
void serve_router_want(struct serve_router *router, struct serve_model *model);
// Returns true if a model takes requests.
bool serve_router_is_open(const struct serve_router *router, const struct serve_model *model);
// Returns true if a request waits for a model.
bool serve_router_awaits(const struct serve_router *router, const struct serve_model *model);
// Lets a request in.
void serve_visit_admit(struct serve_visit *visit);
// Fails the requests that wait for a model; NULL: all.
void serve_router_fail(struct serve_router *router, const struct serve_model *model,
                       unsigned status, const char *why);
// Runs until the router is stopped; without the lock.
void *serve_router_run(void *user);

//-- serve_router_calls.c --------------------------------------------------------------------------

enum { SERVE_MAX_NAME = 1024 };
// Handles a call about all models. Returns false for a call about one.
bool serve_router_handle(struct serve_router *router, const struct serve_call *call,
                         struct serve_reply *reply);
// Reads the name of the model of a call, "" if it has none, and what the visit has to know of it.
// Returns false if its body cannot be read.
bool serve_router_read(struct serve_visit *visit, const struct serve_call *call,
                       char name[SERVE_MAX_NAME]);
// Replies that a call succeeded, and that no model has a name.
void serve_reply_success(struct serve_reply *reply);
void serve_reply_unknown(struct serve_reply *reply, const char *name);
// Returns the name of a model's state.
const char *serve_model_state_name(const struct serve_model *model);
// Returns the model of a name or an alias, or NULL. The lock is held.
struct serve_model *serve_router_find_named(struct serve_router *router, const char *name);
// Returns the model of a name, or without a name the only one that suits the call. The lock is
// held. Returns NULL with an error as the reply.
struct serve_model *serve_router_find(struct serve_router *router, const struct serve_call *call,
                                      const char *name, struct serve_reply *reply);

//-- serve_router_news.c ---------------------------------------------------------------------------

// Begins a stream of events as the reply.
void serve_router_listen(struct serve_router *router, struct serve_reply *reply);
// Sends an event; takes over data, which may be NULL. With the lock or without.
void serve_router_tell(struct serve_router *router, const char *name, const char *event,
                       cJSON *data);
// Sends the state of a model. The lock is held.
void serve_router_tell_state(struct serve_router *router, const struct serve_model *model);
// Ends all streams.
void serve_router_close_news(struct serve_router *router);
void serve_router_finish_news(struct serve_router *router);

//-- serve_download.c ------------------------------------------------------------------------------

// Starts to fetch the file of a model of the hub that is not here. The lock is held. Returns false
// if there is nothing to wait for.
bool serve_download_for(struct serve_router *router, struct serve_model *model);
// Cancels the download of a name. The lock is held. Returns false if nothing is fetched by that
// name.
bool serve_download_cancel(struct serve_router *router, const char *name);
// Appends the new models that arrive. The lock is held.
void serve_download_list(struct serve_router *router, cJSON *list);
// Forgets a download that has ended; is_end: cancels all, and waits for one. The lock is held.
// Returns false without one.
bool serve_download_reap(struct serve_router *router, bool is_end);
// Handle POST /models and DELETE /models.
void serve_download_post(struct serve_router *router, const struct serve_call *call,
                         struct serve_reply *reply);
void serve_download_delete(struct serve_router *router, const struct serve_call *call,
                           struct serve_reply *reply);
