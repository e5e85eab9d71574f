// HTTP on libmicrohttpd: reads requests within limits, passes them to the API, and sends replies,
// whole or in pieces. Connections that wait for an answer are suspended and cost nothing; regular
// calls of serve_http_check find clients that have gone.
#pragma once

#include "cli/serve/http/serve_access.h"
#include "cli/serve/http/serve_listen.h"
#include "cli/serve/router/serve_router.h"

struct serve_http;

// Starts to serve with what is borrowed. Prints an error and returns NULL if that fails.
struct serve_http *serve_http_create(struct serve_router *router,
                                     const struct serve_settings *settings,
                                     const struct serve_access *access,
                                     const struct serve_sockets *sockets);
// Closes all connections. Accepts NULL. The scheduler must have been stopped.
void serve_http_destroy(struct serve_http *http);

// Ends requests whose client has gone, and connections without a request for too long.
void serve_http_check(struct serve_http *http);
// Ends every connection with its next reply, so that clients look for another server.
void serve_http_drain(struct serve_http *http);
// Refuses new connections.
void serve_http_quiesce(struct serve_http *http);
// Returns the number of requests without a complete answer; while draining, only those that came
// before it.
uint32_t serve_http_count(struct serve_http *http);
