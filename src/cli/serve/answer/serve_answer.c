#include "cli/serve/answer/serve_answer.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/common/cli_random.h"
#include "cli/serve/calls/serve_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

//-- create ----------------------------------------------------------------------------------------

struct serve_answer *serve_answer_create(struct serve_scheduler *scheduler,
                                         const struct serve_format *format, struct serve_task *task)
{
    char id[24 + 1];
    struct serve_answer *answer = cli_alloc(1, sizeof(*answer));
    answer->scheduler = scheduler;
    answer->tokenizer = scheduler ? serve_scheduler_tokenizer(scheduler) : NULL;
    answer->format = format;
    answer->task = task;
    answer->created = (int64_t)time(NULL);
    cli_random_letters(id, sizeof(id) - 1);
    snprintf(answer->id, sizeof(answer->id), "%s%s", format->id_prefix, id);
    return answer;
}

void serve_answer_prepare(struct serve_answer *answer)
{
    if (!answer->choices) {
        answer->choices = cli_alloc(answer->task->n_jobs, sizeof(*answer->choices));
    }
}

void serve_answer_destroy(struct serve_answer *answer)
{
    if (!answer) {
        return;
    }
    serve_mailbox_leave(&answer->task->mailbox);
    if (answer->n_over < answer->task->n_jobs) {
        serve_scheduler_cancel(answer->scheduler, answer->task);
    }
    for (uint32_t i = 0; answer->choices && i < answer->task->n_jobs; i++) {
        struct serve_choice *choice = &answer->choices[i];
        cli_bytes_finish(&choice->text);
        serve_thoughts_finish(&choice->thoughts);
        cli_bytes_finish(&choice->bytes);
        free(choice->ids.items);
        cJSON_Delete(choice->calls);
        cJSON_Delete(choice->probs);
        cJSON_Delete(choice->items);
    }
    free(answer->choices);
    cli_bytes_finish(&answer->body);
    serve_task_unref(answer->task);
    free(answer);
}

//-- advance ---------------------------------------------------------------------------------------

static void append_frame(struct serve_answer *answer, const cJSON *json)
{
    const bool is_line = answer->format->framing == SERVE_FRAMES_LINES;
    const char *type = cli_json_get_text(json, "type");
    if (answer->format->framing == SERVE_FRAMES_NAMED && type) {
        cli_bytes_add(&answer->body, "event: ");
        cli_bytes_add(&answer->body, type);
        cli_bytes_add(&answer->body, "\n");
    }
    cli_bytes_add(&answer->body, is_line ? "" : "data: ");
    cli_append_json(&answer->body, json);
    cli_bytes_add(&answer->body, is_line ? "\n" : "\n\n");
}

// Appends an event of a stream, or each of a list, and deletes it. Accepts NULL.
static void emit(struct serve_answer *answer, cJSON *json)
{
    const bool is_list = json && cJSON_IsArray(json);
    const cJSON *item = is_list ? json->child : json;
    for (; answer->is_stream && item; item = is_list ? item->next : NULL) {
        append_frame(answer, item);
    }
    cJSON_Delete(json);
}

// Returns the last event of a list, or the event.
static cJSON *last_of(cJSON *json)
{
    return cJSON_IsArray(json) ? cJSON_GetArrayItem(json, cJSON_GetArraySize(json) - 1) : json;
}

// Appends an event of one choice, with its timings if each event has them.
static void emit_part(struct serve_answer *answer, uint32_t index, cJSON *json)
{
    if (json && answer->has_timings) {
        serve_add_timings(last_of(json), answer, index);
    }
    emit(answer, json);
}

// Notes, and sends if it was requested, how many tokens of a prompt were processed besides those
// that the slot held.
static void report_progress(struct serve_answer *answer, uint32_t index, uint32_t n_done)
{
    struct serve_choice *choice = &answer->choices[index];
    const double n_prompt = (double)answer->task->jobs[index].prompt.count;
    const double ms = 1e3 * (cli_now() - choice->began);
    if (choice->ids.count == 0) { // more of it may follow a thought that was ended
        choice->stats.prompt_n = n_done;
        choice->stats.prompt_ms = n_done > 0 ? ms : 0;
    }
    if (!answer->task->has_progress || (n_done > 0 && n_done <= choice->n_reported)) {
        return;
    }
    choice->n_reported = n_done;
    cJSON *json = answer->format->progress ? answer->format->progress(answer, index)
                                           : answer->format->token(answer, index, "", 0, NULL);
    cJSON *progress = cJSON_AddObjectToObject(last_of(json), "prompt_progress");
    cJSON_AddNumberToObject(progress, "total", n_prompt);
    cJSON_AddNumberToObject(progress, "cache", choice->n_cached);
    cJSON_AddNumberToObject(progress, "processed", n_done + choice->n_cached);
    cJSON_AddNumberToObject(progress, "time_ms", floor(ms));
    emit_part(answer, index, json);
}

// Begins an answer. The first progress tells the length of the prompt.
static void begin(struct serve_answer *answer, const struct serve_event *event)
{
    struct serve_choice *choice = &answer->choices[event->choice];
    choice->has_begun = true;
    choice->began = cli_now();
    choice->n_cached = event->n_cached;
    choice->slot = event->slot;
    answer->has_begun = true;
    if (answer->is_stream && answer->format->begin) {
        emit(answer, answer->format->begin(answer, event->choice));
    }
    report_progress(answer, event->choice, 0);
}

// Sends the text of a choice up to `end`; takes over probs.
static void show(struct serve_answer *answer, uint32_t index, size_t end, cJSON *probs)
{
    struct serve_choice *choice = &answer->choices[index];
    const size_t begin = choice->shown;
    if (end > begin || probs || answer->has_ids) {
        choice->shown = end;
        emit_part(
            answer, index,
            answer->format->token(answer, index, choice->text.data + begin, end - begin, probs));
    }
}

// Sends the new part of a thought. Takes over probs and returns NULL if there is a part to send.
static cJSON *show_thought(struct serve_answer *answer, uint32_t index, cJSON *probs)
{
    struct serve_thoughts *thoughts = &answer->choices[index].thoughts;
    const size_t begin = thoughts->shown, end = serve_thoughts_count(thoughts);
    if (end == begin) {
        return probs;
    }
    thoughts->shown = end;
    emit_part(
        answer, index,
        answer->format->thought(answer, index, thoughts->text.data + begin, end - begin, probs));
    return NULL;
}

// Replaces the calls of a choice; takes over the list. Calls that the old list has keep their ids.
static void set_calls(struct serve_choice *choice, cJSON *calls)
{
    cJSON *call = calls ? calls->child : NULL;
    const cJSON *old = choice->calls ? choice->calls->child : NULL;
    for (; call && old; call = call->next, old = old->next) {
        const cJSON *id = cli_json_get(old, "id");
        cJSON_ReplaceItemInObjectCaseSensitive(call, "id", cJSON_Duplicate(id, 1));
    }
    cJSON_Delete(choice->calls);
    choice->calls = calls;
}

// Sends the new parts of calls.
static void show_calls(struct serve_answer *answer, uint32_t index)
{
    struct serve_choice *choice = &answer->choices[index];
    const cJSON *call;
    int i = 0;
    cJSON_ArrayForEach(call, choice->calls)
    {
        if (i == choice->n_calls) {
            choice->n_calls++;
            choice->call_shown = 0;
            emit_part(answer, index, answer->format->call(answer, index, i, call, NULL));
        }
        const char *own = cli_json_get_text(cli_json_get(call, "function"), "arguments");
        const size_t size = strlen(own);
        if (++i == choice->n_calls && size > choice->call_shown) {
            emit_part(answer, index,
                      answer->format->call(answer, index, i - 1, call, own + choice->call_shown));
            choice->call_shown = size;
        }
    }
}

// Sends the parts of thought, text and calls that a token adds; takes over probs.
static void show_token(struct serve_answer *answer, uint32_t index, cJSON *probs)
{
    const struct serve_choice *choice = &answer->choices[index];
    const struct cli_bytes *text = &choice->text;
    const bool has_probs = probs != NULL;
    probs = show_thought(answer, index, probs);
    const size_t end = serve_thoughts_is_before_content(&choice->thoughts) ? 0
                       : answer->calls ? serve_count_shown(answer->calls, text->data, text->size)
                                       : text->size;
    if (!has_probs || probs || end > choice->shown) {
        show(answer, index, end, probs);
    }
    if (answer->calls && end < text->size) {
        set_calls(&answer->choices[index],
                  serve_read_begun_calls(answer->calls, cli_json_get(answer->task->body, "tools"),
                                         text->data + end, text->size - end));
        show_calls(answer, index);
    }
}

// Returns the text of a token; that of control tokens that mark thoughts or calls is their name.
static const char *text_of(const struct serve_answer *answer, const struct serve_event *event,
                           const struct serve_events *events, size_t *size)
{
    const char *text = events->texts.data + event->text;
    const struct serve_thoughts *thoughts = &answer->choices[event->choice].thoughts;
    if (thoughts->is_on || thoughts->is_named) {
        text = cli_reasoning_text(&thoughts->reasoning, answer->tokenizer, event->id, text,
                                  event->text_size, size);
    } else {
        *size = event->text_size;
    }
    if (*size == 0 && event->id >= 0 && answer->calls) {
        size_t n = 0;
        const char *name = glinfer_token_bytes(answer->tokenizer, event->id, &n);
        const bool is_mark = name && serve_is_mark(answer->calls, name, n);
        *size = is_mark ? n : 0;
        return is_mark ? name : text;
    }
    return text;
}

// Adds the log-probabilities of a token of the echo. A first token that is not in the text, such as
// BOS, has no length there.
static void take_prompt_token(struct serve_answer *answer, const struct serve_event *event,
                              const struct serve_events *events)
{
    struct serve_choice *choice = &answer->choices[event->choice];
    const char *text = answer->task->jobs[event->choice].text;
    size_t size = 0;
    const char *bytes = glinfer_token_bytes(answer->tokenizer, event->id, &size);
    const size_t n_space = size > 0 && bytes[0] == ' ';
    choice->probs = choice->probs ? choice->probs : cJSON_CreateArray();
    cJSON_AddItemToArray(choice->probs, answer->format->probs(answer, choice, event,
                                                              events->probs.items + event->probs));
    if (event->n_probs == 0 && text && size > n_space && strncmp(text, bytes, size) != 0 &&
        strncmp(text, bytes + n_space, size - n_space) != 0) {
        choice->text_offset = 0;
    }
}

// Notes the times of a token. With the first one all of the prompt was processed.
static void note_token(struct serve_answer *answer, uint32_t index)
{
    struct serve_choice *choice = &answer->choices[index];
    if (choice->ids.count == 0) {
        report_progress(answer, index,
                        (uint32_t)answer->task->jobs[index].prompt.count - choice->n_cached);
        choice->first = cli_now();
    }
    choice->stats.predicted_n = (uint32_t)choice->ids.count + 1;
    choice->stats.predicted_ms = 1e3 * (cli_now() - choice->first);
}

static void take_token(struct serve_answer *answer, const struct serve_event *event,
                       const struct serve_events *events)
{
    struct serve_choice *choice = &answer->choices[event->choice];
    cJSON *probs = NULL;
    size_t text_size;
    answer->has_begun = true; // of sound, whose first event is text
    const char *text = text_of(answer, event, events, &text_size);
    serve_thoughts_take(&choice->thoughts, text, text_size, &choice->text);
    if (event->id >= 0) {
        note_token(answer, event->choice);
        cli_ids_append(&choice->ids, &event->id, 1);
        probs = event->n_probs > 0 ? answer->format->probs(answer, choice, event,
                                                           events->probs.items + event->probs)
                                   : NULL;
    }
    if (answer->is_stream) {
        show_token(answer, event->choice, probs);
    } else {
        choice->probs = choice->probs || !probs ? choice->probs : cJSON_CreateArray();
        cJSON_AddItemToArray(choice->probs, probs);
    }
}

// Separates the calls of a complete answer from its text.
static void find_calls(struct serve_answer *answer, uint32_t index)
{
    struct serve_choice *choice = &answer->choices[index];
    serve_thoughts_close(&choice->thoughts, &choice->text);
    show_thought(answer, index, NULL);
    size_t n = choice->text.size;
    if (answer->calls && n > 0) {
        set_calls(choice, serve_read_calls(answer->calls, cli_json_get(answer->task->body, "tools"),
                                           choice->text.data, n, &n));
    }
    const enum glinfer_stop stop = choice->stats.stop;
    const bool is_cut =
        stop == GLINFER_STOP_LIMIT || stop == GLINFER_STOP_CONTEXT || choice->n_calls > 0;
    if (answer->calls && n > 0 && !choice->calls && is_cut) {
        n = serve_find_cut_call(answer->calls, choice->text.data, n); // drops half a call
    }
    if (answer->is_stream && n > choice->shown) {
        show(answer, index, n, NULL);
    }
    if (answer->is_stream) {
        show_calls(answer, index);
    }
    if (n < choice->text.size) { // the text ends before the calls
        choice->text.size = n;
        choice->text.data[n] = 0;
    }
}

static void end_choice(struct serve_answer *answer, const struct serve_event *event)
{
    struct serve_choice *choice = &answer->choices[event->choice];
    choice->is_over = true;
    choice->stats = event->stats;
    choice->result = event->result;
    answer->n_over++;
    find_calls(answer, event->choice);
    if (answer->is_stream) {
        emit(answer, answer->format->finish(answer, event->choice));
    }
    if (answer->n_over < answer->task->n_jobs) {
        return;
    }
    answer->is_over = true;
    if (answer->is_stream) {
        if (answer->format->close) {
            emit(answer, answer->format->close(answer));
        }
        cli_bytes_add(&answer->body, answer->format->end);
    } else if (answer->format->write) {
        answer->format->write(answer, &answer->body);
    } else {
        cJSON *json = answer->format->whole(answer);
        cli_append_json(&answer->body, json);
        cJSON_Delete(json);
    }
}

static unsigned status_of(enum glinfer_status status)
{
    switch (status) {
    case GLINFER_STATUS_INVALID_ARGUMENT:
    case GLINFER_STATUS_CONTEXT_FULL:
    case GLINFER_STATUS_UNSUPPORTED:
    case GLINFER_STATUS_BAD_FILE:
        return 400;
    case GLINFER_STATUS_NOT_FOUND:
        return 404;
    case GLINFER_STATUS_CANCELLED:
    case GLINFER_STATUS_NO_MEMORY:
    case GLINFER_STATUS_OVER_BUDGET:
        return 503;
    default:
        return 500;
    }
}

// Ends the request: one failed answer fails all of it.
static void fail(struct serve_answer *answer, const struct serve_event *event,
                 const struct serve_events *events)
{
    char message[1024];
    snprintf(message, sizeof(message), "%.*s", (int)event->text_size,
             events->texts.data + event->text);
    answer->failure = status_of(event->status);
    answer->is_over = true;
    answer->choices[event->choice].is_over = true;
    answer->n_over++;
    cJSON *json = serve_error_json(answer->failure, message);
    if (answer->format->framing == SERVE_FRAMES_LINES) {
        cli_json_set(json, "error", cJSON_CreateString(message));
    }
    if (answer->is_stream && answer->has_begun) {
        if (answer->format->framing == SERVE_FRAMES_NAMED) {
            cJSON_AddStringToObject(json, "type", "error");
            cJSON_AddStringToObject(json, "message", message);
        }
        emit(answer, json);
        return;
    }
    answer->body.size = answer->sent = 0;
    cli_append_json(&answer->body, json);
    cJSON_Delete(json);
}

static void take_news(struct serve_answer *answer, const char *text, size_t size)
{
    answer->is_over = size == 0;
    if (size > 0) {
        cli_bytes_add(&answer->body, "data: ");
        cli_bytes_append(&answer->body, text, size);
        cli_bytes_add(&answer->body, "\n\n");
    }
}

bool serve_answer_advance(struct serve_answer *answer)
{
    struct serve_events events = {0};
    if (!serve_mailbox_take(&answer->task->mailbox, &events)) {
        return false;
    }
    for (size_t i = 0; i < events.count && !answer->is_over; i++) {
        const struct serve_event *event = &events.items[i];
        cJSON *json;
        switch (event->kind) {
        case SERVE_EVENT_QUEUED:
            answer->has_begun = true;
            json = cJSON_CreateObject();
            cJSON_AddNumberToObject(cJSON_AddObjectToObject(json, "queue"), "before", event->done);
            cJSON_AddArrayToObject(json, "choices");
            emit(answer, json);
            break;
        case SERVE_EVENT_PROMPT:
            take_prompt_token(answer, event, &events);
            break;
        case SERVE_EVENT_START:
            begin(answer, event);
            break;
        case SERVE_EVENT_PROGRESS:
            report_progress(answer, event->choice, event->done);
            break;
        case SERVE_EVENT_TOKEN:
            take_token(answer, event, &events);
            break;
        case SERVE_EVENT_VALUES:
            cli_bytes_append(&answer->choices[event->choice].bytes, events.texts.data + event->text,
                             event->text_size);
            break;
        case SERVE_EVENT_END:
            end_choice(answer, event);
            break;
        case SERVE_EVENT_FAIL:
            fail(answer, event, &events);
            break;
        case SERVE_EVENT_NEWS:
            take_news(answer, events.texts.data + event->text, event->text_size);
        }
    }
    serve_events_finish(&events);
    return true;
}

//-- for formats -----------------------------------------------------------------------------------

const char *serve_stopping_word(const struct serve_answer *answer, uint32_t index)
{
    const struct serve_choice *choice = &answer->choices[index];
    const struct glinfer_stats *stats = &choice->stats;
    return choice->is_over && stats->stop == GLINFER_STOP_WORD
               ? answer->task->params.stop[stats->stop_index]
               : "";
}

void serve_add_timings(cJSON *object, const struct serve_answer *answer, uint32_t index)
{
    const struct serve_choice *choice = &answer->choices[index];
    const struct glinfer_stats *stats = &choice->stats;
    cJSON *timings = cJSON_AddObjectToObject(object, "timings");
    cJSON_AddNumberToObject(timings, "cache_n", choice->n_cached);
    cli_add_rate(timings, "prompt", stats->prompt_n, stats->prompt_n, stats->prompt_ms);
    cli_add_rate(timings, "predicted", stats->predicted_n, cli_timed_tokens(stats),
                 stats->predicted_ms);
}
