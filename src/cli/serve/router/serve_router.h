// The models of the server. A thread of its own loads them one at a time, unloads them, and puts
// them to sleep: a request waits, without a thread, until its model is loaded. A model that does
// not fit among the others takes the place of the one that was idle for longest; if all of them
// have requests, it waits, and after a while the one that was used longest ago gets no new
// requests.
#pragma once

#include "cli/serve/router/serve_model.h"
#include "cli/serve/schedule/serve_mailbox.h"

struct serve_router;

// A request on its way to a model.
struct serve_visit {
    TAILQ_ENTRY(serve_visit) place; // among those that wait
    struct serve_router *router;    // borrowed
    struct serve_mailbox mailbox;   // wakes the connection of a request that waits
    struct serve_model *model;      // that it waits for or uses; NULL: none
    enum {
        SERVE_VISIT_NEW,
        SERVE_VISIT_WAITS,
        SERVE_VISIT_INSIDE, // it uses the model
        SERVE_VISIT_FAILED,
    } state;
    bool is_look;     // the model may fall asleep regardless of it
    bool is_stream;   // the client takes events
    bool has_keep;    // the request says for how long its model stays
    bool is_farewell; // and asks for nothing else than that it leaves
    double keep_s;    // seconds; less than 0: for ever
    unsigned status;  // of the failure
    char failure[1024];
};

// Finds the models and starts the thread. Prints an error and returns NULL if that fails.
struct serve_router *serve_router_create(struct serve_settings *settings);
// Accepts NULL. No visit may be left.
void serve_router_destroy(struct serve_router *router);
// Stops the thread and all models: their answers fail.
void serve_router_stop(struct serve_router *router);
// Refuses new answers; the others go on.
void serve_router_drain(struct serve_router *router);
// Returns the interface to the model of -m and --speech-model, or that of --speech-model alone;
// NULL without both. Its model never leaves if it is pinned.
const struct serve_api *serve_router_own(struct serve_router *router, bool is_pinned);
// Returns a descriptor that becomes readable when that model is loaded, or loading has failed; -1
// without such a model.
int serve_router_ready_fd(const struct serve_router *router);
// Takes note of that. Returns false if loading has failed.
bool serve_router_take_ready(struct serve_router *router);

void serve_visit_init(struct serve_visit *visit, struct serve_router *router);
// Ends the use of the model, or the wait for it.
void serve_visit_finish(struct serve_visit *visit);
// Handles a call and returns true, or returns false if the call waits for its model: it is to be
// repeated when the mailbox wakes. Fills an empty *reply.
bool serve_visit_handle(struct serve_visit *visit, const struct serve_call *call,
                        struct serve_reply *reply);
