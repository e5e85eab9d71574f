// The Wyoming side of the server: satellites and Home Assistant send sound over TCP and get text.
// One thread of its own serves all connections. Their sound and that of HTTP wait in one queue.
#pragma once

#include "cli/serve/api/serve_api.h"

struct serve_wyoming;

// Opens the sockets of --wyoming and prints their addresses; api has a speech model. Clients wait
// until serve_wyoming_start. Prints an error and returns NULL if that fails.
struct serve_wyoming *serve_wyoming_create(const struct serve_api *api);
// Starts the thread and announces the service, once the model is loaded. Prints an error and
// returns false if that fails.
bool serve_wyoming_start(struct serve_wyoming *wyoming);
// Refuses new connections, and ends those that wait for no answer.
void serve_wyoming_drain(struct serve_wyoming *wyoming);
// Returns the number of connections that wait for an answer. Accepts NULL.
uint32_t serve_wyoming_count(struct serve_wyoming *wyoming);
// Ends the thread and all connections. Accepts NULL.
void serve_wyoming_destroy(struct serve_wyoming *wyoming);
