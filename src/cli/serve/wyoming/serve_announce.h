// Announces a Wyoming service over zeroconf, so that Home Assistant finds it.
#pragma once

#include "cli/serve/http/serve_listen.h"

struct serve_announcement;

// Announces the port of the sockets as _wyoming._tcp, now or as soon as Avahi's daemon runs, from a
// thread of its own. Returns NULL if only this machine reaches the sockets, or if that is
// impossible: zeroconf is an extra.
struct serve_announcement *serve_announce(const struct serve_sockets *sockets);
// Withdraws the announcement. Accepts NULL.
void serve_announcement_end(struct serve_announcement *announcement);
