#include "cli/common/cli_io.h"
#include "cli/serve/http/serve_http_state.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEADER_SIZE = 32 << 10, // bytes for the headers and the unread body of a request
    IDLE_S = 60,            // limit for a connection without a request or with half its headers
    ENDED_S = 1,            // limit for a connection without a request that its client has closed
    READ_LIMITS =
        2, // a refused body is read up to this many limits, so that the client reads the reply
};

//-- connections
//-----------------------------------------------------------------------------------------

static void notify_connection(void *user, struct MHD_Connection *connection, void **context,
                              enum MHD_ConnectionNotificationCode code)
{
    struct serve_http *http = user;
    struct serve_link *link = *context;
    pthread_mutex_lock(&http->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        link = cli_alloc(1, sizeof(*link));
        link->fd = info ? info->connect_fd : -1;
        link->since = cli_now();
        LIST_INSERT_HEAD(&http->links, link, place);
        http->n_links++;
        *context = link;
    } else if (link) {
        LIST_REMOVE(link, place);
        http->n_links--;
        free(link);
        *context = NULL;
    }
    pthread_mutex_unlock(&http->lock);
}

static struct serve_exchange *open_exchange(struct serve_http *http,
                                            struct MHD_Connection *connection)
{
    struct serve_exchange *exchange = cli_alloc(1, sizeof(*exchange));
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    exchange->http = http;
    exchange->connection = connection;
    exchange->began = cli_now();
    exchange->ping_s = -1;
    serve_visit_init(&exchange->visit, http->router);
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              (unsigned)http->settings->timeout_s);
    pthread_mutex_lock(&http->lock);
    exchange->link = info ? info->socket_context : NULL;
    if (exchange->link) {
        exchange->link->is_busy = true;
        exchange->link->since = cli_now();
    }
    LIST_INSERT_HEAD(&http->exchanges, exchange, place);
    http->n_exchanges++;
    pthread_mutex_unlock(&http->lock);
    return exchange;
}

static void close_exchange(void *user, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code)
{
    struct serve_http *http = user;
    struct serve_exchange *exchange = *context;
    (void)code;
    if (!exchange) {
        return;
    }
    pthread_mutex_lock(&http->lock);
    LIST_REMOVE(exchange, place);
    http->n_exchanges--;
    if (exchange->link) {
        exchange->link->is_busy = false;
        exchange->link->since = cli_now();
    }
    pthread_mutex_unlock(&http->lock);
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_S);
    cli_bytes_finish(&exchange->body);
    serve_reply_finish(&exchange->reply);
    serve_visit_finish(&exchange->visit);
    free(exchange);
    *context = NULL;
}

//-- requests --------------------------------------------------------------------------------------

const char *serve_header(const struct serve_exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

// Returns the length of the body in the headers; 0 if they have no length.
static uint64_t announced_size(const struct serve_exchange *exchange)
{
    const char *text = serve_header(exchange, "Content-Length");
    return text ? strtoull(text, NULL, 10) : 0;
}

static void refuse_large(struct serve_exchange *exchange)
{
    exchange->is_refused = true;
    serve_reply_error(&exchange->reply, 413,
                      "invalid request body: larger than %llu bytes; --max-body allows more",
                      (unsigned long long)exchange->http->settings->max_body);
}

// Refuses a request by its headers.
static void check_headers(struct serve_exchange *exchange, const struct serve_call *call,
                          const char *method)
{
    const struct serve_http *http = exchange->http;
    const char *origin = serve_header(exchange, "Origin");
    const char *host = serve_header(exchange, "Host");
    exchange->has_allowed_origin = serve_access_allows(http->access, origin);
    if (origin && strcmp(method, "OPTIONS") == 0) { // without headers browsers do not go on
        exchange->is_refused = exchange->is_preflight = true;
        exchange->reply.status = 200;
    } else if (!serve_access_trusts(http->access, origin, host)) {
        exchange->is_refused = true;
        serve_reply_error(
            &exchange->reply, 403,
            "unknown origin: pages of it may not use this server; allow it with --cors");
    } else if (!origin && !serve_api_is_open(call) &&
               !serve_access_knows(http->access, host, serve_header(exchange, "Sec-Fetch-Site"))) {
        exchange->is_refused = true;
        serve_reply_error(
            &exchange->reply, 403,
            "unknown host name %.200s; allow it with --cors http://%.200s, or use a key", host,
            host);
    } else if (!serve_api_is_open(call) &&
               !serve_access_has_key(http->access, serve_header(exchange, "Authorization"),
                                     serve_header(exchange, "X-Api-Key"))) {
        exchange->is_refused = true;
        serve_reply_error(&exchange->reply, 401, "missing key; send Authorization: Bearer KEY");
    } else if (announced_size(exchange) > http->settings->max_body) {
        refuse_large(exchange);
    }
}

static void take_body(struct serve_exchange *exchange, const char *data, size_t size)
{
    if (exchange->is_refused) {
        return;
    }
    if (exchange->body.size + size > exchange->http->settings->max_body) {
        refuse_large(exchange);
        cli_bytes_finish(&exchange->body);
        return;
    }
    cli_bytes_append(&exchange->body, data, size);
}

bool serve_handle_call(struct serve_exchange *exchange)
{
    const struct serve_http *http = exchange->http;
    if (atomic_load(&exchange->is_handled)) {
        return true;
    }
    if (!serve_visit_handle(&exchange->visit, &exchange->call, &exchange->reply)) {
        if (!atomic_load(&exchange->mailbox)) {
            atomic_store(&exchange->last, cli_now());
            atomic_store(&exchange->ping_s,
                         exchange->visit.is_stream ? http->settings->ping_s : -1);
            atomic_store(&exchange->mailbox, &exchange->visit.mailbox);
        }
        return false;
    }
    cli_bytes_finish(&exchange->body);
    const struct serve_answer *answer = exchange->reply.answer;
    atomic_store(&exchange->ping_s, answer && answer->is_stream ? answer->ping_s : -1);
    if (answer) {
        atomic_store(&exchange->last, cli_now());
        atomic_store(&exchange->mailbox, &answer->task->mailbox);
    }
    atomic_store(&exchange->is_handled, true);
    return true;
}

// Waits until a reply can be sent: a whole answer, or the beginning of a stream.
static enum MHD_Result go_on(struct serve_exchange *exchange)
{
    do {
        if (atomic_load(&exchange->is_vanished)) {
            return MHD_NO;
        }
        if (!exchange->is_refused && !serve_handle_call(exchange)) {
            if (atomic_load(&exchange->has_ended) || atomic_load(&exchange->wants_ping)) {
                return serve_send(exchange);
            }
            continue;
        }
        struct serve_answer *answer = exchange->reply.answer;
        if (!answer) {
            return serve_send(exchange);
        }
        serve_answer_advance(answer);
        if (answer->is_over || (answer->is_stream && answer->has_begun) ||
            atomic_load(&exchange->has_ended) || atomic_load(&exchange->wants_ping)) {
            return serve_send(exchange);
        }
    } while (!serve_await(exchange));
    return MHD_YES;
}

// Returns a word of the query; NULL: missing.
static const char *find_word(const struct serve_exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **context)
{
    struct serve_http *http = user;
    struct serve_exchange *exchange = *context;
    (void)version;
    if (!exchange) {
        exchange = *context = open_exchange(http, connection);
        exchange->call = (struct serve_call){
            .method = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ? SERVE_GET
                      : strcmp(method, "POST") == 0                             ? SERVE_POST
                      : strcmp(method, "DELETE") == 0                           ? SERVE_DELETE
                                                                                : SERVE_OTHER,
            .path = url,
            .action = find_word(exchange, "action"),
            .model = find_word(exchange, "model"),
            .autoload = find_word(exchange, "autoload"),
            .reload = find_word(exchange, "reload"),
            .type = serve_header(exchange, "Content-Type"),
        };
        check_headers(exchange, &exchange->call, method);
        const bool is_small = announced_size(exchange) <= READ_LIMITS * http->settings->max_body;
        return exchange->is_refused && !is_small ? serve_send(exchange) : MHD_YES;
    }
    if (*size > 0) {
        take_body(exchange, data, *size);
        *size = 0;
        return MHD_YES;
    }
    atomic_store(&exchange->is_whole, true);
    exchange->call.body = exchange->body.data ? exchange->body.data : "";
    exchange->call.body_size = exchange->body.size;
    return go_on(exchange);
}

//-- the server ------------------------------------------------------------------------------------

static struct MHD_Daemon *start(struct serve_http *http, int fd)
{
    const struct serve_settings *settings = http->settings;
    const unsigned n = (unsigned)settings->n_threads;
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
                            handle, http, MHD_OPTION_LISTEN_SOCKET, dup(fd),
                            MHD_OPTION_THREAD_POOL_SIZE, n > 1 ? n : 0, MHD_OPTION_CONNECTION_LIMIT,
                            (unsigned)settings->n_connections, MHD_OPTION_CONNECTION_TIMEOUT,
                            (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)HEADER_SIZE, MHD_OPTION_NOTIFY_COMPLETED, close_exchange, http,
                            MHD_OPTION_NOTIFY_CONNECTION, notify_connection, http, MHD_OPTION_END);
}

struct serve_http *serve_http_create(struct serve_router *router,
                                     const struct serve_settings *settings,
                                     const struct serve_access *access,
                                     const struct serve_sockets *sockets)
{
    struct serve_http *http = cli_alloc(1, sizeof(*http));
    http->router = router;
    http->settings = settings;
    http->access = access;
    pthread_mutex_init(&http->lock, NULL);
    const rlim_t n_files = (rlim_t)http->settings->n_connections * sockets->count + 256;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < n_files) {
        limit.rlim_cur = limit.rlim_max < n_files ? limit.rlim_max : n_files;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    for (size_t i = 0; i < sockets->count; i++) {
        http->daemons[i] = start(http, sockets->fds[i]);
        if (!http->daemons[i]) {
            cli_fail(CLI_EXIT_FAILED, "cannot start the HTTP server: %s", strerror(errno));
            serve_http_destroy(http);
            return NULL;
        }
    }
    return http;
}

void serve_http_destroy(struct serve_http *http)
{
    if (!http) {
        return;
    }
    for (size_t i = 0; i < SERVE_MAX_SOCKETS; i++) {
        if (http->daemons[i]) {
            MHD_stop_daemon(http->daemons[i]);
        }
    }
    pthread_mutex_destroy(&http->lock);
    free(http);
}

void serve_http_drain(struct serve_http *http)
{
    atomic_store(&http->drained, cli_now());
}

void serve_http_quiesce(struct serve_http *http)
{
    for (size_t i = 0; i < SERVE_MAX_SOCKETS; i++) {
        const int fd = http->daemons[i] ? MHD_quiesce_daemon(http->daemons[i]) : -1;
        if (fd >= 0) {
            close(fd);
        }
    }
}

// Returns the events of a connection: POLLRDHUP (the client sends no more), POLLHUP and POLLERR
// (the client is gone).
static int look_at(int fd)
{
    struct pollfd item = {.fd = fd, .events = POLLRDHUP};
    return poll(&item, 1, 0) > 0 ? item.revents & (POLLRDHUP | POLLHUP | POLLERR) : 0;
}

// Returns true if all data has been read.
static bool is_at_end(int fd)
{
    int n_unread = 0;
    return ioctl(fd, FIONREAD, &n_unread) == 0 && n_unread == 0;
}

// Ends requests whose client has gone, and requests whose body takes too long to arrive. A client
// that has stopped sending may be gone or may wait for its answer. The first bytes of the answer
// tell, since a client that is gone resets the connection. libmicrohttpd misses the end of a body
// that arrives together with its last bytes. So a cut body is found here, by two looks, since a
// thread may be about to read it.
static void drop_vanished(struct serve_http *http)
{
    const double now = cli_now();
    struct serve_exchange *e;
    LIST_FOREACH(e, &http->exchanges, place)
    {
        const int fd = e->link ? e->link->fd : -1;
        struct serve_mailbox *mailbox = atomic_load(&e->mailbox);
        const bool had_ended = atomic_load(&e->has_ended);
        const bool is_whole = atomic_load(&e->is_whole);
        const bool is_cut = had_ended && !is_whole && is_at_end(fd);
        const int seen = look_at(fd);
        atomic_store(&e->has_ended, had_ended || seen != 0);
        if (seen & (POLLHUP | POLLERR)) {
            atomic_store(&e->is_vanished, true);
        }
        const int64_t ping_s = atomic_load(&e->ping_s);
        const bool is_silent =
            mailbox && ping_s > 0 && now - atomic_load(&e->last) >= (double)ping_s;
        if (is_silent) {
            atomic_store(&e->wants_ping, true);
        }
        if (mailbox && (is_silent || atomic_load(&e->is_vanished) || (seen != 0 && !had_ended))) {
            serve_mailbox_wake(mailbox);
        } else if (is_cut || (!is_whole && now - e->began > (double)http->settings->timeout_s)) {
            shutdown(fd, SHUT_RDWR);
        }
    }
}

// Ends idle connections: if the client sends no more, after a long time, and the oldest if there
// are too many.
static void drop_idle(struct serve_http *http)
{
    const double now = cli_now();
    const int64_t limit = http->settings->n_connections / 10 * 9;
    const double longest = http->n_links > limit ? 1 : IDLE_S;
    const struct serve_link *link;
    LIST_FOREACH(link, &http->links, place)
    {
        const double wait = link->is_busy ? 0 : now - link->since;
        const bool has_ended = wait > ENDED_S && look_at(link->fd) != 0 && is_at_end(link->fd);
        if (!link->is_busy && (wait > longest || has_ended)) {
            shutdown(link->fd, SHUT_RDWR);
        }
    }
}

void serve_http_check(struct serve_http *http)
{
    pthread_mutex_lock(&http->lock);
    drop_vanished(http);
    drop_idle(http);
    pthread_mutex_unlock(&http->lock);
}

uint32_t serve_http_count(struct serve_http *http)
{
    uint32_t n = 0;
    const double end = atomic_load(&http->drained);
    pthread_mutex_lock(&http->lock);
    const struct serve_exchange *e;
    LIST_FOREACH(e, &http->exchanges, place)
    {
        n += end <= 0 || e->began <= end;
    }
    pthread_mutex_unlock(&http->lock);
    return n;
}
