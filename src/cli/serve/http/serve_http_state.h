// Connections and requests as the HTTP side keeps them. Private to this folder.
#pragma once

#include "cli/serve/answer/serve_answer.h"
#include "cli/serve/http/serve_http.h"

#include <microhttpd.h>
#include <sys/queue.h>

// A connection, with or without a request.
struct serve_link {
    LIST_ENTRY(serve_link) place;
    int fd;
    bool is_busy; // it has a request
    double since; // cli_now() at its creation, or at the end of its last request
};

// A request, from its first header to the last byte of its answer.
struct serve_exchange {
    LIST_ENTRY(serve_exchange) place;
    struct serve_http *http;
    struct MHD_Connection *connection;
    struct serve_link *link;
    struct cli_bytes body;
    struct serve_call call;                  // the request
    struct serve_visit visit;                // to its model
    size_t sent;                             // bytes of the reply, if it began before it was known
    bool is_refused;                         // by its headers: reply has the error
    double began;                            // cli_now()
    _Atomic double last;                     // cli_now() at the last bytes of a stream
    _Atomic int64_t ping_s;                  // as that of the answer; -1: no stream
    atomic_bool wants_ping;                  // the stream has been silent for as long
    atomic_bool is_whole;                    // all of it has been read
    atomic_bool is_handled;                  // reply is filled
    atomic_bool has_ended;                   // the client sends no more
    atomic_bool is_vanished;                 // the client is gone
    _Atomic(struct serve_mailbox *) mailbox; // of the visit, then of the answer; NULL: neither
    struct serve_reply reply;
    bool has_allowed_origin; // a page of it may read the reply
    bool is_preflight;       // a page asks whether it may send a request
};

struct serve_http {
    struct serve_router *router;           // borrowed
    const struct serve_settings *settings; // borrowed
    const struct serve_access *access;     // borrowed
    struct MHD_Daemon *daemons[SERVE_MAX_SOCKETS];
    pthread_mutex_t lock; // of the lists
    LIST_HEAD(, serve_link) links;
    LIST_HEAD(, serve_exchange) exchanges;
    uint32_t n_links, n_exchanges;
    _Atomic double drained; // cli_now() at the beginning of draining; 0: not draining
};

// Returns a header of the request; NULL: missing.
const char *serve_header(const struct serve_exchange *exchange, const char *name);
// Queues the reply of an exchange, whole or in pieces.
enum MHD_Result serve_send(struct serve_exchange *exchange);
// Fills the reply, if the request's model is loaded. Returns false if the request waits for it.
bool serve_handle_call(struct serve_exchange *exchange);
// Suspends the connection until the answer, or the model, has news. Returns false if it has some
// already.
bool serve_await(struct serve_exchange *exchange);
