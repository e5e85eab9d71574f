#include "cli/serve/wyoming/serve_wyoming.h"

#include "cli/common/cli_io.h"
#include "cli/serve/http/serve_listen.h"
#include "cli/serve/wyoming/serve_announce.h"
#include "cli/serve/wyoming/serve_wyoming_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MAX_LINKS = 128, // connections at once; a home has fewer
    CHECK_MS = 250,  // between two checks of the time
};

struct serve_wyoming {
    struct serve_wyoming_side side;
    struct serve_sockets sockets;
    struct serve_announcement *announcement;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_draining, is_stopped;
    atomic_uint n_owed;
    // The thread's own:
    struct serve_wyoming_link *links[MAX_LINKS];
    size_t n_link;
};

//-- open ------------------------------------------------------------------------------------------

struct serve_wyoming *serve_wyoming_create(const struct serve_api *api)
{
    const struct serve_settings *settings = api->settings;
    const struct serve_place *place = &settings->wyoming;
    const char *host = place->host[0]          ? place->host
                       : settings->socket_path ? "127.0.0.1"
                                               : settings->host;
    struct serve_wyoming *wyoming = cli_alloc(1, sizeof(*wyoming));
    wyoming->side.api = api;
    wyoming->side.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    cli_wyoming_write_info(&wyoming->side.info, api->speech_name,
                           serve_scheduler_speech(api->scheduler)->n_language);
    if (!serve_sockets_open_host(&wyoming->sockets, host, place->port)) {
        serve_wyoming_destroy(wyoming);
        return NULL;
    }
    serve_sockets_print(&wyoming->sockets, "tcp");
    if (!serve_sockets_are_local(&wyoming->sockets)) {
        cli_warn("anyone on the network can use --wyoming, which has no keys");
    }
    return wyoming;
}

//-- connections -----------------------------------------------------------------------------------

static void remove_link(struct serve_wyoming *wyoming, size_t index)
{
    serve_wyoming_link_destroy(wyoming->links[index]);
    wyoming->links[index] = wyoming->links[--wyoming->n_link];
}

// Makes room for a connection: ends the one that has been idle for longest. Returns false if all
// are busy.
static bool make_room(struct serve_wyoming *wyoming)
{
    size_t oldest = MAX_LINKS;
    for (size_t i = 0; i < wyoming->n_link && wyoming->n_link == MAX_LINKS; i++) {
        const struct serve_wyoming_link *link = wyoming->links[i];
        if (!serve_wyoming_link_is_busy(link) &&
            (oldest == MAX_LINKS || link->since < wyoming->links[oldest]->since)) {
            oldest = i;
        }
    }
    if (oldest < MAX_LINKS) {
        remove_link(wyoming, oldest);
    }
    return wyoming->n_link < MAX_LINKS;
}

// Accepts a connection of a socket that is readable. Returns false if no more descriptors can be
// opened.
static bool accept_link(struct serve_wyoming *wyoming, int listener)
{
    const int one = 1;
    const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    struct serve_wyoming_link *link = serve_wyoming_link_create(&wyoming->side, fd);
    if (make_room(wyoming)) {
        wyoming->links[wyoming->n_link++] = link;
        return true;
    }
    serve_wyoming_link_refuse(link, "too many connections: try again later");
    serve_wyoming_link_step(link, 0);
    serve_wyoming_link_destroy(link);
    return true;
}

// Advances all connections and removes those that are over.
static void step_links(struct serve_wyoming *wyoming, const struct pollfd *fds)
{
    const bool is_draining = atomic_load(&wyoming->is_draining);
    unsigned n_owed = 0;
    for (size_t i = wyoming->n_link; i-- > 0;) { // the last takes the place of one that is over
        struct serve_wyoming_link *link = wyoming->links[i];
        if (!serve_wyoming_link_step(link, fds[i].revents) ||
            (is_draining && !serve_wyoming_link_is_owed(link) && !link->is_refused)) {
            remove_link(wyoming, i);
        } else {
            n_owed += serve_wyoming_link_is_owed(link);
        }
    }
    atomic_store(&wyoming->n_owed, n_owed);
}

// Waits for the connections, the listening sockets and news of transcriptions.
static void serve(struct serve_wyoming *wyoming, struct pollfd *fds, bool *may_accept)
{
    const struct serve_sockets *sockets = &wyoming->sockets;
    const size_t n_link = wyoming->n_link;
    struct pollfd *const wake = &fds[n_link], *const listeners = wake + 1;
    const bool accepts = *may_accept && !atomic_load(&wyoming->is_draining);
    uint64_t n;
    for (size_t i = 0; i < n_link; i++) {
        fds[i] = (struct pollfd){.fd = wyoming->links[i]->fd,
                                 .events = serve_wyoming_link_events(wyoming->links[i])};
    }
    *wake = (struct pollfd){.fd = wyoming->side.wake_fd, .events = POLLIN};
    for (size_t i = 0; i < sockets->count; i++) {
        listeners[i] = (struct pollfd){.fd = accepts ? sockets->fds[i] : -1, .events = POLLIN};
    }
    poll(fds, (nfds_t)(n_link + 1 + sockets->count), CHECK_MS);
    if (wake->revents && read(wake->fd, &n, sizeof(n)) < 0) {
        // Its cause is handled below in any case.
    }
    step_links(wyoming, fds);
    *may_accept = true; // after a pause
    for (size_t i = 0; i < sockets->count; i++) {
        if (listeners[i].revents && !accept_link(wyoming, sockets->fds[i])) {
            *may_accept = false;
        }
    }
}

static void *run(void *user)
{
    struct serve_wyoming *wyoming = user;
    struct pollfd fds[MAX_LINKS + 1 + SERVE_MAX_SOCKETS];
    bool may_accept = true;
    while (!atomic_load(&wyoming->is_stopped)) {
        serve(wyoming, fds, &may_accept);
    }
    while (wyoming->n_link > 0) {
        remove_link(wyoming, wyoming->n_link - 1);
    }
    return NULL;
}

//-- for the server --------------------------------------------------------------------------------

bool serve_wyoming_start(struct serve_wyoming *wyoming)
{
    const int reason = pthread_create(&wyoming->thread, NULL, run, wyoming);
    if (reason != 0) {
        return cli_fail(CLI_EXIT_FAILED, "cannot create the thread of Wyoming: %s",
                        strerror(reason));
    }
    wyoming->has_thread = true;
    wyoming->announcement = serve_announce(&wyoming->sockets);
    return true;
}

void serve_wyoming_drain(struct serve_wyoming *wyoming)
{
    serve_announcement_end(wyoming->announcement);
    wyoming->announcement = NULL;
    atomic_store(&wyoming->is_draining, true);
    serve_wyoming_wake(&wyoming->side);
}

uint32_t serve_wyoming_count(struct serve_wyoming *wyoming)
{
    return wyoming ? atomic_load(&wyoming->n_owed) : 0;
}

void serve_wyoming_destroy(struct serve_wyoming *wyoming)
{
    if (!wyoming) {
        return;
    }
    serve_announcement_end(wyoming->announcement);
    atomic_store(&wyoming->is_stopped, true);
    serve_wyoming_wake(&wyoming->side);
    if (wyoming->has_thread) {
        pthread_join(wyoming->thread, NULL);
    }
    serve_sockets_close(&wyoming->sockets);
    close(wyoming->side.wake_fd);
    cli_bytes_finish(&wyoming->side.info);
    free(wyoming);
}
