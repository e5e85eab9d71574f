#include "cli/serve/serve_server.h"

#include "cli/serve/http/serve_http.h"
#include "cli/serve/wyoming/serve_wyoming.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    CHECK_MS = 250, // between two checks of the clients
    SEND_S = 2,     // for sending the last errors to clients
    REPEAT_S = 600, // after which a warning may be repeated
};

struct server {
    struct serve_settings *settings;
    struct serve_access access;
    struct serve_sockets sockets;
    struct serve_router *router;
    struct serve_http *http;
    struct serve_wyoming *wyoming; // NULL: without --wyoming
    int signal_fd;
    bool is_ready, is_draining;
    int signal;      // that ended the server
    double deadline; // of answers while draining
};

//-- signals ---------------------------------------------------------------------------------------

// Opens a descriptor for SIGTERM and SIGINT. Threads that start later inherit the mask.
static bool catch_signals(struct server *server)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    server->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return server->signal_fd >= 0 ||
           cli_fail(CLI_EXIT_FAILED, "cannot wait for signals: %s", strerror(errno));
}

// Returns the number of requests in progress.
static uint32_t count_requests(const struct server *server)
{
    return serve_http_count(server->http) + serve_wyoming_count(server->wyoming);
}

// Starts draining at the first signal; ends the answers at the second.
static void take_signal(struct server *server)
{
    struct signalfd_siginfo info;
    if (read(server->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return;
    }
    server->signal = (int)info.ssi_signo;
    if (!server->is_ready) { // there are no requests, and loading cannot be interrupted
        serve_sockets_close(&server->sockets);
        _exit(server->signal == SIGINT ? CLI_EXIT_INTERRUPTED : CLI_EXIT_DONE);
    }
    if (server->is_draining) {
        server->deadline = 0;
        return;
    }
    const uint32_t n = count_requests(server);
    cli_say("shutting down, %u request%s in progress%s", n, n == 1 ? "" : "s",
            n > 0 ? "; a second signal ends them" : "");
    server->is_draining = true;
    server->deadline = cli_now() + (double)server->settings->drain_s;
    serve_notify_manager("STOPPING=1");
    serve_router_drain(server->router);
    serve_http_drain(server->http); // new requests get 503
    if (server->wyoming) {
        serve_wyoming_drain(server->wyoming);
    }
}

//-- open ------------------------------------------------------------------------------------------

static void warn_of_strangers(const struct server *server)
{
    if (!serve_sockets_are_local(&server->sockets) && server->access.n_keys == 0) {
        cli_warn("anyone on the network can use this server; limit it with --api-key-file");
    }
}

static bool open_server(struct server *server)
{
    struct serve_settings *settings = server->settings;
    server->access.origins = settings->origins;
    return (!settings->keys || serve_access_add_keys(&server->access, settings->keys)) &&
           (!settings->key_file || serve_access_read_keys(&server->access, settings->key_file)) &&
           serve_sockets_open(&server->sockets, settings->host, (uint16_t)settings->port,
                              settings->socket_path) &&
           catch_signals(server) && (server->router = serve_router_create(settings)) &&
           (server->http =
                serve_http_create(server->router, settings, &server->access, &server->sockets)) &&
           (!settings->wyoming.is_set ||
            (server->wyoming = serve_wyoming_create(serve_router_own(server->router, true))));
}

//-- run -------------------------------------------------------------------------------------------

// Announces that the model is loaded; returns false if loading has failed.
static bool take_ready(struct server *server)
{
    const bool is_pinned = server->settings->wyoming.is_set;
    const struct serve_api *api = serve_router_own(server->router, is_pinned);
    if (!serve_router_take_ready(server->router)) {
        return false;
    }
    if (server->wyoming && !serve_wyoming_start(server->wyoming)) {
        return false;
    }
    server->is_ready = true;
    const char *text = api ? api->model_name : "models on demand";
    const char *speech = api ? api->speech_name : NULL;
    cli_say("ready: %s%s%s", text ? text : "", text && speech ? " and " : "", speech ? speech : "");
    serve_notify_manager("READY=1");
    return true;
}

static bool serve(struct server *server)
{
    serve_sockets_print(&server->sockets, "http");
    warn_of_strangers(server);
    if (serve_router_ready_fd(server->router) < 0) {
        take_ready(server);
    }
    while (!server->is_draining || (count_requests(server) > 0 && cli_now() <= server->deadline)) {
        struct pollfd fds[2] = {
            {.fd = server->signal_fd, .events = POLLIN},
            {.fd = server->is_ready ? -1 : serve_router_ready_fd(server->router), .events = POLLIN},
        };
        poll(fds, 2, server->is_draining ? 20 : CHECK_MS);
        if (fds[1].revents && !take_ready(server)) {
            return false;
        }
        if (fds[0].revents) {
            take_signal(server);
        }
        serve_http_check(server->http);
    }
    return server->signal != SIGINT || cli_end(CLI_EXIT_INTERRUPTED);
}

// Ends the answers, lets clients read their errors, and frees everything in order.
static void close_server(struct server *server)
{
    if (server->http) {
        serve_http_quiesce(server->http);
    }
    if (server->router) {
        serve_router_stop(server->router);
    }
    for (int i = 0; server->http && count_requests(server) > 0 && i < SEND_S * 50; i++) {
        serve_http_check(server->http);
        poll(NULL, 0, 20);
    }
    serve_wyoming_destroy(server->wyoming);
    serve_http_destroy(server->http);
    serve_router_destroy(server->router);
    serve_sockets_close(&server->sockets);
    serve_access_finish(&server->access);
    if (server->signal_fd >= 0) {
        close(server->signal_fd);
    }
}

bool serve_server_run(struct serve_settings *settings)
{
    struct server server = {.settings = settings, .signal_fd = -1};
    cli_repeat_warnings(REPEAT_S);
    const bool is_done = open_server(&server) && serve(&server);
    close_server(&server);
    return is_done;
}
