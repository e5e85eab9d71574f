// HTTP by libmicrohttpd: takes requests in within limits, has the API answer them, and sends what
// it says, also bit by bit. Connections whose answers are awaited are suspended and cost nothing;
// one call of serve_http_check now and then finds the clients that went away meanwhile.
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "cli/serve/api/serve_api.h"
#include "cli/serve/http/serve_access.h"
#include "cli/serve/http/serve_listen.h"

struct serve_http_params {
    const struct serve_api *api;         // borrowed
    const struct serve_access *access;   // borrowed
    const struct serve_sockets *sockets; // borrowed
    uint32_t n_threads;                  // for each socket
    uint64_t max_body;                   // bytes
    uint32_t max_connections;            // for each socket
    uint32_t timeout_s; // of a request, and of an answer that a client does not read
};

struct serve_http;

// Starts to serve. Prints what failed; NULL then.
struct serve_http *serve_http_create(const struct serve_http_params *params);
// Ends what is left. Accepts NULL. No answer is awaited any more: the scheduler was stopped.
void serve_http_destroy(struct serve_http *http);

// Ends requests whose client is gone, and connections without a request for too long.
void serve_http_check(struct serve_http *http);
// Has every connection end with its next reply, so that its client looks for another server.
void serve_http_drain(struct serve_http *http);
// Takes no new connections.
void serve_http_quiesce(struct serve_http *http);
// Returns the number of requests that are not answered whole; of a server that drains, of those
// that came before it did.
uint32_t serve_http_count(struct serve_http *http);

#endif
