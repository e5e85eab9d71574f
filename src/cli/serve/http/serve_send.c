// Sends replies: whole bodies, and answers in pieces.
#include "cli/common/cli_io.h"
#include "cli/serve/http/serve_http_state.h"

#include <string.h>

enum { BLOCK_SIZE = 8192 };

static void suspend(void *user)
{
    const struct serve_exchange *exchange = user;
    MHD_suspend_connection(exchange->connection);
}

static void resume(void *user)
{
    const struct serve_exchange *exchange = user;
    MHD_resume_connection(exchange->connection);
}

bool serve_await(struct serve_exchange *exchange)
{
    return serve_mailbox_wait(atomic_load(&exchange->mailbox), suspend, resume, exchange);
}

// Copies the rest of a reply that began while its request waited for a model: in a stream as an
// event.
static ssize_t read_late(struct serve_exchange *exchange, char *data, size_t capacity)
{
    struct cli_bytes *body = &exchange->reply.body;
    if (exchange->sent == 0 && exchange->visit.is_stream) {
        struct cli_bytes own = {0};
        cli_bytes_add(&own, "data: ");
        cli_bytes_append(&own, body->data, body->size);
        cli_bytes_add(&own, "\n\n");
        cli_bytes_finish(body);
        *body = own;
    }
    const size_t left = body->size - exchange->sent, n = left < capacity ? left : capacity;
    memcpy(data, n > 0 ? body->data + exchange->sent : "", n);
    exchange->sent += n;
    return n > 0 ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

// Copies the data of a stream, or waits for more.
static ssize_t read_stream(void *user, uint64_t position, char *data, size_t capacity)
{
    struct serve_exchange *exchange = user;
    do {
        if (atomic_load(&exchange->is_vanished)) {
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
        if (!serve_handle_call(exchange)) { // its model is being loaded
            if (position == 0 || atomic_exchange(&exchange->wants_ping, false)) {
                const bool is_stream = exchange->visit.is_stream;
                const size_t n = is_stream ? 3 : 1;
                atomic_store(&exchange->last, cli_now());
                memcpy(data, is_stream ? ":\n\n" : " ", n);
                return (ssize_t)n;
            }
            continue;
        }
        struct serve_answer *answer = exchange->reply.answer;
        if (!answer) {
            return read_late(exchange, data, capacity);
        }
        answer->has_begun = true;
        serve_answer_advance(answer);
        if (atomic_exchange(&exchange->wants_ping, false) && answer->body.size == 0 &&
            !answer->is_over) {
            cli_bytes_add(&answer->body, ":\n\n");
        }
        const size_t left = answer->body.size - answer->sent;
        const size_t n = left < capacity ? left : capacity;
        if (n > 0) {
            atomic_store(&exchange->last, cli_now());
            memcpy(data, answer->body.data + answer->sent, n);
            answer->sent = n < left ? answer->sent + n : 0;
            answer->body.size = n < left ? answer->body.size : 0;
            return (ssize_t)n;
        }
        if (answer->is_over) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
    } while (!serve_await(exchange));
    return 0;
}

// Returns true if the answer is sent as events; a failure before the first event is a plain reply.
static bool is_streamed(const struct serve_answer *answer)
{
    return answer && answer->is_stream && (answer->has_begun || !answer->failure);
}

static struct MHD_Response *create_response(struct serve_exchange *exchange)
{
    struct serve_reply *reply = &exchange->reply;
    struct serve_answer *answer = reply->answer;
    const bool is_early = !exchange->is_refused && !atomic_load(&exchange->is_handled);
    if (is_early || is_streamed(answer) || (answer && !answer->is_over)) {
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_stream,
                                                 exchange, NULL);
    }
    const struct cli_bytes *body = answer ? &answer->body : &reply->body;
    return MHD_create_response_from_buffer(body->size, body->data ? body->data : "",
                                           MHD_RESPMEM_MUST_COPY);
}

// Lets a page read the reply. Its own headers are repeated: a * would not cover Authorization.
static void add_origin_headers(const struct serve_exchange *exchange, struct MHD_Response *response)
{
    const char *headers = serve_header(exchange, "Access-Control-Request-Headers");
    MHD_add_response_header(response, "Access-Control-Allow-Origin",
                            serve_header(exchange, "Origin"));
    MHD_add_response_header(response, "Access-Control-Allow-Credentials", "true");
    MHD_add_response_header(response, "Vary", "Origin");
    if (exchange->is_preflight) {
        MHD_add_response_header(response, "Access-Control-Allow-Methods",
                                "GET, POST, DELETE, OPTIONS");
        MHD_add_response_header(response, "Access-Control-Allow-Headers", headers ? headers : "*");
        MHD_add_response_header(response, "Access-Control-Max-Age", "600");
    }
}

static void add_headers(const struct serve_exchange *exchange, struct MHD_Response *response)
{
    const struct serve_reply *reply = &exchange->reply;
    char seconds[24];
    const bool is_early = reply->status == 0; // the request waits for its model
    const bool is_stream = is_early ? exchange->visit.is_stream : is_streamed(reply->answer);
    const bool has_failed = reply->answer && reply->answer->failure && !is_stream;
    if (has_failed || is_early || reply->type) {
        MHD_add_response_header(response, "Content-Type",
                                is_early && is_stream    ? "text/event-stream"
                                : has_failed || is_early ? "application/json; charset=utf-8"
                                                         : reply->type);
    }
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    if (reply->policy) {
        MHD_add_response_header(response, "Content-Security-Policy", reply->policy);
        MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
        MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    }
    if (atomic_load(&exchange->http->drained) > 0) {
        MHD_add_response_header(response, "Connection", "close");
    }
    if (is_stream) {
        MHD_add_response_header(response, "X-Accel-Buffering", "no"); // lets nginx send at once
    }
    if (reply->started > 0) {
        snprintf(seconds, sizeof(seconds), "%lld", (long long)reply->started);
        MHD_add_response_header(response, "Process-Start-Time-Unix", seconds);
    }
    if (reply->retry_s > 0) {
        snprintf(seconds, sizeof(seconds), "%u", reply->retry_s);
        MHD_add_response_header(response, "Retry-After", seconds);
    }
    if (reply->status == 401) {
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    }
    if (exchange->has_allowed_origin) {
        add_origin_headers(exchange, response);
    }
}

enum MHD_Result serve_send(struct serve_exchange *exchange)
{
    const struct serve_reply *reply = &exchange->reply;
    const unsigned failure =
        reply->answer && !is_streamed(reply->answer) ? reply->answer->failure : 0;
    if (reply->answer && !reply->answer->is_over &&
        (atomic_load(&exchange->has_ended) || atomic_load(&exchange->wants_ping))) {
        // The first bytes detect a closed connection, and keep one that waits: a comment before
        // events, white space before JSON.
        if (reply->answer->body.size == 0) {
            const bool has_events =
                reply->answer->is_stream && reply->answer->format->framing != SERVE_FRAMES_LINES;
            cli_bytes_add(&reply->answer->body, has_events ? ":\n\n" : " ");
        }
        reply->answer->has_begun = true;
    }
    struct MHD_Response *response = create_response(exchange);
    if (!response) {
        return MHD_NO;
    }
    add_headers(exchange, response);
    const enum MHD_Result result = MHD_queue_response(exchange->connection,
                                                      failure             ? failure
                                                      : reply->status > 0 ? reply->status
                                                                          : 200,
                                                      response);
    MHD_destroy_response(response);
    return result;
}
