#include "cli/serve/wyoming/serve_announce.h"

#include "cli/common/cli_io.h"

#include <avahi-client/client.h>
#include <avahi-client/publish.h>
#include <avahi-common/alternative.h>
#include <avahi-common/error.h>
#include <avahi-common/malloc.h>
#include <avahi-common/thread-watch.h>
#include <stdlib.h>

enum { MAX_NAMES = 100 }; // that are tried in a row

struct serve_announcement {
    AvahiThreadedPoll *poll;
    AvahiClient *client;
    AvahiEntryGroup *group; // owned by the client
    char *name;             // of the service; owned. NULL: not known yet, or no memory
    uint16_t port;
};

// Replaces the name by the next one, such as "glinfer on pi #2"; by NULL without memory.
static void change_name(struct serve_announcement *self)
{
    char *name = avahi_alternative_service_name(self->name);
    avahi_free(self->name);
    self->name = name;
}

// Publishes the service, under a later name if this machine has published the name already.
static void publish(struct serve_announcement *self)
{
    int status = AVAHI_ERR_COLLISION;
    for (int i = 0; i < MAX_NAMES && self->name && status == AVAHI_ERR_COLLISION; i++) {
        avahi_entry_group_reset(self->group);
        status = avahi_entry_group_add_service(self->group, AVAHI_IF_UNSPEC, AVAHI_PROTO_UNSPEC, 0,
                                               self->name, "_wyoming._tcp", NULL, NULL, self->port,
                                               NULL);
        if (status == AVAHI_ERR_COLLISION) {
            change_name(self);
        }
    }
    if (status < 0 || avahi_entry_group_commit(self->group) < 0) {
        cli_note("cannot announce the Wyoming service: %s",
                 avahi_strerror(avahi_client_errno(self->client)));
    }
}

// Changes the name if another machine of the network has published it.
static void take_group(AvahiEntryGroup *group, AvahiEntryGroupState state, void *user)
{
    struct serve_announcement *self = user;
    (void)group;
    if (state == AVAHI_ENTRY_GROUP_COLLISION) {
        change_name(self);
        publish(self);
    }
}

static bool connect_daemon(struct serve_announcement *self);

// Publishes the service when the daemon runs. The daemon may come, go, and change the host's name.
static void take_client(AvahiClient *client, AvahiClientState state, void *user)
{
    struct serve_announcement *self = user;
    self->client = client;
    if (state == AVAHI_CLIENT_S_RUNNING) {
        if (!self->name) {
            self->name = avahi_strdup_printf("glinfer on %s", avahi_client_get_host_name(client));
        }
        self->group = self->group ? self->group : avahi_entry_group_new(client, take_group, self);
        if (self->group) {
            publish(self);
        }
    } else if (state == AVAHI_CLIENT_FAILURE) { // the client can only be replaced
        const bool has_left = avahi_client_errno(client) == AVAHI_ERR_DISCONNECTED;
        avahi_client_free(client);
        self->client = NULL;
        self->group = NULL;
        if (has_left) {
            connect_daemon(self);
        }
    } else if (self->group) {
        avahi_entry_group_reset(self->group);
    }
}

// Connects to the daemon, now or as soon as it runs.
static bool connect_daemon(struct serve_announcement *self)
{
    self->client = avahi_client_new(avahi_threaded_poll_get(self->poll), AVAHI_CLIENT_NO_FAIL,
                                    take_client, self, NULL);
    return self->client;
}

struct serve_announcement *serve_announce(const struct serve_sockets *sockets)
{
    if (serve_sockets_are_local(sockets)) {
        return NULL;
    }
    struct serve_announcement *self = cli_alloc(1, sizeof(*self));
    self->port = serve_sockets_port(sockets);
    self->poll = avahi_threaded_poll_new();
    if (!self->poll || !connect_daemon(self) || avahi_threaded_poll_start(self->poll) < 0) {
        serve_announcement_end(self);
        return NULL;
    }
    return self;
}

void serve_announcement_end(struct serve_announcement *self)
{
    if (!self) {
        return;
    }
    if (self->poll) {
        avahi_threaded_poll_stop(self->poll);
    }
    if (self->client) {
        avahi_client_free(self->client);
    }
    if (self->poll) {
        avahi_threaded_poll_free(self->poll);
    }
    avahi_free(self->name);
    free(self);
}
