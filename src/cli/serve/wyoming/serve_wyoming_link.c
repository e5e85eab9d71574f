#include "cli/serve/wyoming/serve_wyoming_link.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/schedule/serve_speech.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_SIZE = 64 << 10,    // bytes that are read at a time, so that clients take turns
    WRITTEN_MOST = 64 << 10, // unsent bytes beyond which no further event is answered
    LINGER_S = 2,            // for a client to read the error that ends its connection
    PROMPT_MOST = 600,       // bytes of names and terms that precede the sound, about 150 tokens
};

struct serve_wyoming_link *serve_wyoming_link_create(struct serve_wyoming_side *side, int fd)
{
    struct serve_wyoming_link *link = cli_alloc(1, sizeof(*link));
    link->side = side;
    link->fd = fd;
    // The samples of a WAV file that HTTP would take.
    link->sound.n_sample_most = side->api->settings->max_body / 2;
    link->since = cli_now();
    return link;
}

// Drops the reference to the task, which has ended or is cancelled.
static void release(struct serve_wyoming_link *link)
{
    serve_mailbox_leave(&link->task->mailbox);
    serve_task_unref(link->task);
    link->task = NULL;
    link->since = cli_now();
}

void serve_wyoming_link_destroy(struct serve_wyoming_link *link)
{
    if (link->task) {
        serve_scheduler_cancel(link->side->api->scheduler, link->task);
        release(link);
    }
    close(link->fd);
    cli_wyoming_reader_finish(&link->reader);
    cli_wyoming_sound_finish(&link->sound);
    cli_samples_finish(&link->samples);
    cli_bytes_finish(&link->out);
    free(link);
}

//-- state -----------------------------------------------------------------------------------------

static size_t unsent(const struct serve_wyoming_link *link)
{
    return link->out.size - link->n_sent;
}

// Returns true if the next event may be handled. One transcription at a time: the sound of the next
// one stays in the socket.
static bool can_take(const struct serve_wyoming_link *link)
{
    return !link->task && !link->is_refused && unsent(link) < WRITTEN_MOST;
}

bool serve_wyoming_link_is_owed(const struct serve_wyoming_link *link)
{
    return link->task || unsent(link) > 0;
}

bool serve_wyoming_link_is_busy(const struct serve_wyoming_link *link)
{
    return serve_wyoming_link_is_owed(link) || link->sound.is_speaking;
}

short serve_wyoming_link_events(const struct serve_wyoming_link *link)
{
    const bool reads = !link->has_ended && (can_take(link) || link->is_refused);
    const bool probes = link->task && !link->is_probed;
    return (short)((reads ? POLLIN : 0) | (probes ? POLLRDHUP : 0) |
                   (unsent(link) > 0 ? POLLOUT : 0));
}

void serve_wyoming_link_refuse(struct serve_wyoming_link *link, const char *why)
{
    cli_wyoming_write_text(&link->out, "error", why, NULL);
    link->is_refused = true;
    link->sound.is_speaking = false;
    cli_samples_finish(&link->samples);
    cli_wyoming_reader_finish(&link->reader);
}

void serve_wyoming_wake(void *side)
{
    const uint64_t one = 1;
    if (write(((const struct serve_wyoming_side *)side)->wake_fd, &one, sizeof(one)) < 0) {
        // The counter is full: the descriptor is readable already.
    }
}

//-- transcripts -----------------------------------------------------------------------------------

static void write_transcript(struct serve_wyoming_link *link)
{
    const struct serve_speech *speech = link->task->speech;
    const char *asked = speech->params.language ? speech->params.language : "auto";
    const struct cli_transcript transcript = {.segments = speech->segments.items,
                                              .n_segment = speech->segments.count};
    struct cli_bytes text = {0};
    cli_bytes_add(&text, "");
    cli_transcript_join(&transcript, &text);
    cli_wyoming_write_text(&link->out, "transcript", text.data,
                           cli_transcript_language(speech->language, asked));
    cli_wyoming_write_text(&link->out, "transcript-stop", NULL, NULL);
    cli_bytes_finish(&text);
}

static void write_chunk(struct serve_wyoming_link *link, const char *text, size_t size)
{
    while (!link->has_text && size > 0 && isspace((unsigned char)*text)) {
        text++;
        size--;
    }
    if (size > 0) {
        cJSON *data = cJSON_CreateObject();
        cJSON_AddItemToObject(data, "text", cli_json_text(text, size));
        cli_wyoming_write(&link->out, "transcript-chunk", data, NULL, 0);
        link->has_text = true;
    }
}

// Writes the news of the task, and ends it after its last event.
static void take_events(struct serve_wyoming_link *link, const struct serve_events *events)
{
    for (size_t i = 0; link->task && i < events->count; i++) {
        const struct serve_event *event = &events->items[i];
        const char *text = event->text_size > 0 ? events->texts.data + event->text : "";
        if (event->kind == SERVE_EVENT_TOKEN) {
            write_chunk(link, text, event->text_size);
        } else if (event->kind == SERVE_EVENT_END) {
            write_transcript(link);
            release(link);
        } else if (event->kind == SERVE_EVENT_FAIL) {
            release(link);
            serve_wyoming_link_refuse(link, text);
        }
    }
}

static void take_news(struct serve_wyoming_link *link)
{
    while (link->task) {
        struct serve_events events = {0};
        if (serve_mailbox_take(&link->task->mailbox, &events)) {
            take_events(link, &events);
            serve_events_finish(&events);
        } else if (serve_mailbox_wait(&link->task->mailbox, NULL, serve_wyoming_wake, link->side)) {
            return;
        }
    }
}

//-- requests --------------------------------------------------------------------------------------

// Adds the texts of a list to a prompt, as far as they fit.
static void add_texts(const cJSON *list, struct cli_bytes *prompt)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = cJSON_GetStringValue(item);
        if (text && *text && prompt->size + strlen(text) + 2 <= PROMPT_MOST) {
            cli_bytes_add(prompt, prompt->size > 0 ? ", " : "");
            cli_bytes_add(prompt, text);
        }
    }
}

// Returns the settings of a request: "language", a code without its region, and "prompt".
static cJSON *make_body(const cJSON *request)
{
    cJSON *body = cJSON_CreateObject();
    const char *asked = cli_json_get_text(request, "language");
    struct cli_bytes prompt = {0};
    if (asked && *asked) {
        char *code = cli_copy(asked);
        code[strcspn(code, "-_")] = 0;
        for (char *c = code; *c; c++) {
            *c = (char)tolower((unsigned char)*c);
        }
        cJSON_AddStringToObject(body, "language", code);
        free(code);
    }
    add_texts(cli_json_get(request, "transcript_names"), &prompt);
    add_texts(cli_json_get(request, "transcript_terms"), &prompt);
    if (prompt.size > 0) {
        cli_bytes_add(&prompt, "."); // a sentence: the model writes on in its style
        cJSON_AddStringToObject(body, "prompt", prompt.data);
    }
    cli_bytes_finish(&prompt);
    return body;
}

// Refuses a request for another model, or for a language that the model does not know, before its
// sound arrives.
static void check_request(struct serve_wyoming_link *link)
{
    const struct serve_api *api = link->side->api;
    const char *name = cli_json_get_text(link->sound.request, "name");
    cJSON *body = make_body(link->sound.request);
    const char *language = cli_json_get_text(body, "language");
    char why[512] = "";
    if (name && *name && strcmp(name, api->speech_name) != 0) {
        snprintf(why, sizeof(why), "unknown model %.200s; this server has %.200s", name,
                 api->speech_name);
    } else if (language && strcmp(language, "auto") != 0 &&
               cli_language_find(language) >= serve_scheduler_speech(api->scheduler)->n_language) {
        snprintf(why, sizeof(why), "invalid language \"%.32s\": %.200s does not know it", language,
                 api->speech_name);
    }
    if (*why) {
        serve_wyoming_link_refuse(link, why);
    }
    cJSON_Delete(body);
}

static struct serve_task *make_task(struct serve_wyoming_link *link)
{
    cJSON *body = make_body(link->sound.request);
    struct serve_task *task = serve_task_create(body);
    struct serve_speech *speech = cli_alloc(1, sizeof(*speech));
    task->speech = speech;
    serve_task_add(task);
    glinfer_transcription_params_init(&speech->params);
    speech->has_vad = true;
    speech->params.language = cli_json_get_text(body, "language");
    speech->params.prompt = cli_json_get_text(body, "prompt");
    speech->is_stream = true;
    speech->samples = link->samples;
    link->samples = (struct cli_samples){0};
    return task;
}

// Submits the utterance, or refuses it.
static void submit(struct serve_wyoming_link *link)
{
    const struct serve_api *api = link->side->api;
    struct serve_task *task = make_task(link);
    const enum serve_queued queued = serve_scheduler_submit(api->scheduler, task);
    cJSON_Delete(link->sound.request);
    link->sound.request = NULL;
    if (queued == SERVE_QUEUED) {
        link->task = task;
        link->has_text = false;
        cli_wyoming_write_text(&link->out, "transcript-start", NULL, task->speech->params.language);
        take_news(link); // asks to be woken
        return;
    }
    serve_task_unref(task);
    serve_wyoming_link_refuse(link, queued == SERVE_QUEUE_FULL
                                        ? "the queue is full: try again later"
                                        : "the server is shutting down");
}

static void handle(struct serve_wyoming_link *link, const struct cli_wyoming_event *event)
{
    struct glinfer_error err;
    char why[128];
    switch (cli_wyoming_take(&link->sound, event, &link->samples, &err)) {
    case CLI_WYOMING_NOTHING:
    case CLI_WYOMING_SOUND:
        break;
    case CLI_WYOMING_DESCRIBE:
        cli_bytes_append(&link->out, link->side->info.data, link->side->info.size);
        break;
    case CLI_WYOMING_PING:
        cli_wyoming_write_text(&link->out, "pong", cli_json_get_text(event->data, "text"), NULL);
        break;
    case CLI_WYOMING_ASK:
        check_request(link);
        break;
    case CLI_WYOMING_BEGIN:
        link->samples.count = 0;
        break;
    case CLI_WYOMING_LONG:
        snprintf(why, sizeof(why), "invalid sound: longer than %llu s; --max-body allows more",
                 (unsigned long long)(link->sound.n_sample_most / GLINFER_SPEECH_RATE));
        serve_wyoming_link_refuse(link, why);
        break;
    case CLI_WYOMING_END:
        submit(link);
        break;
    case CLI_WYOMING_REFUSE:
        serve_wyoming_link_refuse(link, err.message);
    }
}

// Handles the events that have arrived.
static void handle_all(struct serve_wyoming_link *link)
{
    enum cli_wyoming_found found = CLI_WYOMING_EVENT;
    while (found == CLI_WYOMING_EVENT && can_take(link)) {
        struct cli_wyoming_event event;
        struct glinfer_error err;
        found = cli_wyoming_reader_next(&link->reader, &event, &err);
        if (found == CLI_WYOMING_EVENT) {
            link->since = cli_now();
            handle(link, &event);
        } else if (found == CLI_WYOMING_BROKEN) {
            serve_wyoming_link_refuse(link, err.message);
        }
    }
}

//-- bytes -----------------------------------------------------------------------------------------

static bool would_wait(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// Reads once. Returns false if the connection has failed.
static bool read_bytes(struct serve_wyoming_link *link)
{
    char bytes[READ_SIZE];
    const ssize_t n = recv(link->fd, bytes, sizeof(bytes), 0);
    if (n > 0 && !link->is_refused) {
        cli_wyoming_reader_feed(&link->reader, bytes, (size_t)n);
    }
    link->has_ended = link->has_ended || n == 0;
    return n >= 0 || would_wait();
}

// Sends once. Returns false if the connection has failed.
static bool send_bytes(struct serve_wyoming_link *link)
{
    if (unsent(link) > 0) {
        const ssize_t n = send(link->fd, link->out.data + link->n_sent, unsent(link), MSG_NOSIGNAL);
        if (n < 0) {
            return would_wait();
        }
        link->n_sent += (size_t)n;
        link->since = cli_now();
    }
    if (unsent(link) == 0) {
        cli_bytes_finish(&link->out);
        link->n_sent = 0;
    }
    return true;
}

// A client that sends no more may be gone or may wait for its transcript. A chunk without text
// tells, since the machine of a client that is gone resets the connection.
static void probe(struct serve_wyoming_link *link)
{
    link->is_probed = true;
    cli_wyoming_write_text(&link->out, "transcript-chunk", "", NULL);
}

// Returns true if a connection is over, and ends it if it takes too long.
static bool is_over(struct serve_wyoming_link *link)
{
    const double waited = cli_now() - link->since;
    const double timeout = (double)link->side->api->settings->timeout_s;
    if (link->is_refused && unsent(link) == 0 && !link->is_shut) {
        // The client reads the error before it learns that the connection has ended.
        link->is_shut = true;
        shutdown(link->fd, SHUT_WR);
    }
    if (link->is_refused) {
        return link->has_ended || waited > LINGER_S;
    }
    if (link->task || waited <= timeout) {
        return link->has_ended && !serve_wyoming_link_is_owed(link);
    }
    if (unsent(link) == 0 && (link->sound.is_speaking || link->reader.bytes.size > 0)) {
        serve_wyoming_link_refuse(link, "no complete event arrived for too long");
        link->since = cli_now();
        return false;
    }
    return true;
}

bool serve_wyoming_link_step(struct serve_wyoming_link *link, short revents)
{
    const bool could_take = can_take(link);
    const bool reads = revents & POLLIN && (could_take || link->is_refused);
    if (revents & (POLLERR | POLLHUP | POLLNVAL) || (reads && !read_bytes(link))) {
        return false;
    }
    take_news(link);
    if (link->task && revents & POLLRDHUP && !link->is_probed) {
        probe(link);
    }
    if (reads || !could_take) {
        handle_all(link);
    }
    bool is_alive = send_bytes(link);
    if (is_alive && !could_take && can_take(link)) {
        handle_all(link); // the output was full
        is_alive = send_bytes(link);
    }
    return is_alive && !is_over(link);
}
