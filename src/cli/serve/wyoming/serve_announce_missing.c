// Announces nothing, in builds without Avahi.
#include "cli/serve/wyoming/serve_announce.h"

struct serve_announcement *serve_announce(const struct serve_sockets *sockets)
{
    (void)sockets;
    return NULL;
}

void serve_announcement_end(struct serve_announcement *announcement)
{
    (void)announcement;
}
