// The shape of OpenAI's /v1/responses: an answer is a list of items, which are thoughts, messages
// and calls. A stream begins, continues and ends each of them with events of their own.
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/answer/serve_answer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

//-- items -----------------------------------------------------------------------------------------

// Returns the text that an item has so far.
static cJSON *item_text(const struct serve_choice *choice)
{
    const bool is_thought = choice->item.kind == SERVE_ITEM_THOUGHT;
    const struct cli_bytes *text = is_thought ? &choice->thoughts.text : &choice->text;
    const size_t shown = is_thought ? choice->thoughts.shown : choice->shown;
    const size_t end = shown < text->size ? shown : text->size, begin = choice->item.begin;
    return cli_json_text(text->data ? text->data + begin : "", end > begin ? end - begin : 0);
}

static cJSON *make_piece(const char *type, cJSON *text)
{
    cJSON *piece = cJSON_CreateObject();
    cJSON_AddStringToObject(piece, "type", type);
    cJSON_AddItemToObject(piece, "text", text);
    if (strcmp(type, "output_text") == 0) {
        cJSON_AddArrayToObject(piece, "annotations");
        cJSON_AddArrayToObject(piece, "logprobs");
    }
    return piece;
}

// Returns an item of a kind; takes over its text, which may be NULL: none. call: of that kind.
static cJSON *make_item(const struct serve_choice *choice, const char *status, cJSON *text,
                        const cJSON *call)
{
    static const char *const types[] = {"", "reasoning", "message", "function_call"};
    const enum serve_item_kind kind = choice->item.kind;
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "id", choice->item.id);
    cJSON_AddStringToObject(item, "type", types[kind]);
    cJSON_AddStringToObject(item, "status", status);
    if (kind == SERVE_ITEM_CALL) {
        const cJSON *function = cli_json_get(call, "function");
        const char *arguments = text ? cli_json_get_text(function, "arguments") : "";
        cJSON_AddStringToObject(item, "call_id", cli_json_get_text(call, "id"));
        cJSON_AddStringToObject(item, "name", cli_json_get_text(function, "name"));
        cJSON_AddStringToObject(item, "arguments", arguments);
        cJSON_Delete(text);
        return item;
    }
    if (kind == SERVE_ITEM_MESSAGE) {
        cJSON_AddStringToObject(item, "role", "assistant");
    } else {
        cJSON_AddArrayToObject(item, "summary");
    }
    cJSON *content = cJSON_AddArrayToObject(item, "content");
    if (text) {
        cJSON_AddItemToArray(
            content,
            make_piece(kind == SERVE_ITEM_MESSAGE ? "output_text" : "reasoning_text", text));
    }
    return item;
}

static void name_item(const struct serve_answer *answer, struct serve_choice *choice,
                      enum serve_item_kind kind)
{
    static const char *const prefixes[] = {"", "rs_", "msg_", "fc_"};
    const char *own = strchr(answer->id, '_') + 1;
    choice->item.kind = kind;
    choice->items = choice->items ? choice->items : cJSON_CreateArray();
    snprintf(choice->item.id, sizeof(choice->item.id), "%s%s%d", prefixes[kind], own,
             cJSON_GetArraySize(choice->items));
}

// Appends an item that is complete.
static void append_item(const struct serve_answer *answer, struct serve_choice *choice,
                        enum serve_item_kind kind, cJSON *text, const cJSON *call)
{
    name_item(answer, choice, kind);
    cJSON_AddItemToArray(choice->items, make_item(choice, "completed", text, call));
}

//-- the response ----------------------------------------------------------------------------------

static bool is_cut(const struct serve_choice *choice)
{
    return choice->is_over && !choice->calls &&
           (choice->stats.stop == GLINFER_STOP_LIMIT || choice->stats.stop == GLINFER_STOP_CONTEXT);
}

static void add_usage(cJSON *json, const struct serve_answer *answer)
{
    const struct serve_choice *choice = &answer->choices[0];
    const double n_prompt = (double)answer->task->jobs[0].prompt.count;
    cJSON *usage = cJSON_AddObjectToObject(json, "usage");
    cJSON_AddNumberToObject(usage, "input_tokens", n_prompt);
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(usage, "input_tokens_details"), "cached_tokens",
                            choice->n_cached);
    cJSON_AddNumberToObject(usage, "output_tokens", choice->stats.predicted_n);
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(usage, "output_tokens_details"),
                            "reasoning_tokens", 0);
    cJSON_AddNumberToObject(usage, "total_tokens", n_prompt + choice->stats.predicted_n);
}

// Adds a field of the request as it came, or null.
static void echo(cJSON *json, const struct serve_answer *answer, const char *name, cJSON *missing)
{
    const cJSON *own = cli_json_get(cli_json_get(answer->task->body, "response_request"), name);
    cJSON_AddItemToObject(json, name, own ? cJSON_Duplicate(own, 1) : missing);
    if (own) {
        cJSON_Delete(missing);
    }
}

// Returns the response as it is so far.
static cJSON *make_response(const struct serve_answer *answer)
{
    const struct serve_choice *choice = &answer->choices[0];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "id", answer->id);
    cJSON_AddStringToObject(json, "object", "response");
    cJSON_AddNumberToObject(json, "created_at", (double)answer->created);
    cJSON_AddStringToObject(json, "status",
                            !choice->is_over ? "in_progress"
                            : is_cut(choice) ? "incomplete"
                                             : "completed");
    cJSON_AddNullToObject(json, "error");
    if (is_cut(choice)) {
        cJSON_AddStringToObject(cJSON_AddObjectToObject(json, "incomplete_details"), "reason",
                                "max_output_tokens");
    } else {
        cJSON_AddNullToObject(json, "incomplete_details");
    }
    cJSON_AddStringToObject(json, "model", answer->model);
    cJSON_AddItemToObject(json, "output",
                          choice->items ? cJSON_Duplicate(choice->items, 1) : cJSON_CreateArray());
    echo(json, answer, "instructions", cJSON_CreateNull());
    echo(json, answer, "max_output_tokens", cJSON_CreateNull());
    echo(json, answer, "metadata", cJSON_CreateObject());
    echo(json, answer, "parallel_tool_calls", cJSON_CreateTrue());
    echo(json, answer, "temperature", cJSON_CreateNull());
    echo(json, answer, "top_p", cJSON_CreateNull());
    echo(json, answer, "tool_choice", cJSON_CreateString("auto"));
    echo(json, answer, "tools", cJSON_CreateArray());
    cJSON_AddNullToObject(json, "previous_response_id");
    cJSON_AddBoolToObject(json, "store", false);
    if (choice->is_over) {
        add_usage(json, answer);
    } else {
        cJSON_AddNullToObject(json, "usage");
    }
    return json;
}

static cJSON *responses_whole(const struct serve_answer *answer)
{
    struct serve_choice *choice = &answer->choices[0];
    const struct cli_bytes *thought = &choice->thoughts.text, *text = &choice->text;
    const cJSON *call;
    if (thought->size > 0) {
        append_item(answer, choice, SERVE_ITEM_THOUGHT, cli_json_text(thought->data, thought->size),
                    NULL);
    }
    if (text->size > 0 || !choice->calls) {
        append_item(answer, choice, SERVE_ITEM_MESSAGE, cli_json_text(text->data, text->size),
                    NULL);
    }
    cJSON_ArrayForEach(call, choice->calls)
    {
        append_item(answer, choice, SERVE_ITEM_CALL, cJSON_CreateNull(), call);
    }
    cJSON *json = make_response(answer);
    serve_add_timings(json, answer, 0);
    return json;
}

//-- events ----------------------------------------------------------------------------------------

static cJSON *add_event(cJSON *list, struct serve_choice *choice, const char *type)
{
    cJSON *event = cli_json_append(list);
    cJSON_AddStringToObject(event, "type", type);
    cJSON_AddNumberToObject(event, "sequence_number", choice->item.n_events++);
    return event;
}

// Adds an event of the item that is open.
static cJSON *add_item_event(cJSON *list, struct serve_choice *choice, const char *type)
{
    cJSON *event = add_event(list, choice, type);
    cJSON_AddStringToObject(event, "item_id", choice->item.id);
    cJSON_AddNumberToObject(event, "output_index", cJSON_GetArraySize(choice->items));
    if (choice->item.kind != SERVE_ITEM_CALL) {
        cJSON_AddNumberToObject(event, "content_index", 0);
    }
    return event;
}

static void add_response_event(cJSON *list, const struct serve_answer *answer, const char *type)
{
    cJSON *event = add_event(list, &answer->choices[0], type);
    cJSON_AddItemToObject(event, "response", make_response(answer));
}

// Ends the item that is open, if there is one.
static void close_item(cJSON *list, struct serve_choice *choice)
{
    const enum serve_item_kind kind = choice->item.kind;
    const bool is_message = kind == SERVE_ITEM_MESSAGE;
    const cJSON *call = cJSON_GetArrayItem(choice->calls, choice->item.call);
    if (kind == SERVE_ITEM_NONE) {
        return;
    }
    if (kind == SERVE_ITEM_CALL) {
        const cJSON *function = cli_json_get(call, "function");
        cJSON *event = add_item_event(list, choice, "response.function_call_arguments.done");
        cJSON_AddStringToObject(event, "name", cli_json_get_text(function, "name"));
        cJSON_AddStringToObject(event, "arguments", cli_json_get_text(function, "arguments"));
    } else {
        cJSON *event = add_item_event(list, choice,
                                      is_message ? "response.output_text.done"
                                                 : "response.reasoning_text.done");
        cJSON_AddItemToObject(event, "text", item_text(choice));
        if (is_message) {
            cJSON_AddArrayToObject(event, "logprobs");
        }
        cJSON_AddItemToObject(
            add_item_event(list, choice, "response.content_part.done"), "part",
            make_piece(is_message ? "output_text" : "reasoning_text", item_text(choice)));
    }
    cJSON *item = make_item(choice, "completed",
                            kind == SERVE_ITEM_CALL ? cJSON_CreateNull() : item_text(choice), call);
    cJSON *event = add_event(list, choice, "response.output_item.done");
    cJSON_AddNumberToObject(event, "output_index", cJSON_GetArraySize(choice->items));
    cJSON_AddItemToObject(event, "item", cJSON_Duplicate(item, 1));
    cJSON_AddItemToArray(choice->items, item);
    choice->item.kind = SERVE_ITEM_NONE;
}

// Begins an item; begin: bytes of its text that earlier items have.
static void open_item(cJSON *list, const struct serve_answer *answer, struct serve_choice *choice,
                      enum serve_item_kind kind, size_t begin, const cJSON *call)
{
    close_item(list, choice);
    name_item(answer, choice, kind);
    choice->item.begin = begin;
    cJSON *event = add_event(list, choice, "response.output_item.added");
    cJSON_AddNumberToObject(event, "output_index", cJSON_GetArraySize(choice->items));
    cJSON_AddItemToObject(event, "item", make_item(choice, "in_progress", NULL, call));
    if (kind != SERVE_ITEM_CALL) {
        cJSON_AddItemToObject(
            add_item_event(list, choice, "response.content_part.added"), "part",
            make_piece(kind == SERVE_ITEM_MESSAGE ? "output_text" : "reasoning_text",
                       cJSON_CreateString("")));
    }
}

static cJSON *responses_begin(const struct serve_answer *answer, uint32_t index)
{
    (void)index;
    cJSON *list = cJSON_CreateArray();
    add_response_event(list, answer, "response.created");
    add_response_event(list, answer, "response.in_progress");
    return list;
}

static cJSON *responses_progress(const struct serve_answer *answer, uint32_t index)
{
    (void)index;
    cJSON *list = cJSON_CreateArray();
    add_response_event(list, answer, "response.in_progress");
    return list;
}

// Returns the events of a text, which is already counted as shown.
static cJSON *add_delta(struct serve_answer *answer, enum serve_item_kind kind, const char *text,
                        size_t size)
{
    struct serve_choice *choice = &answer->choices[0];
    const bool is_message = kind == SERVE_ITEM_MESSAGE;
    const size_t shown = is_message ? choice->shown : choice->thoughts.shown;
    cJSON *list = cJSON_CreateArray();
    if (choice->item.kind != kind) {
        open_item(list, answer, choice, kind, shown - size, NULL);
    }
    cJSON *event = add_item_event(
        list, choice, is_message ? "response.output_text.delta" : "response.reasoning_text.delta");
    cJSON_AddItemToObject(event, "delta", cli_json_text(text, size));
    if (is_message) {
        cJSON_AddArrayToObject(event, "logprobs");
    }
    return list;
}

static cJSON *responses_token(struct serve_answer *answer, uint32_t index, const char *text,
                              size_t size, cJSON *probs)
{
    (void)index;
    cJSON_Delete(probs);
    return size > 0 ? add_delta(answer, SERVE_ITEM_MESSAGE, text, size) : NULL;
}

static cJSON *responses_thought(struct serve_answer *answer, uint32_t index, const char *text,
                                size_t size, cJSON *probs)
{
    (void)index;
    cJSON_Delete(probs);
    return add_delta(answer, SERVE_ITEM_THOUGHT, text, size);
}

static cJSON *responses_call(const struct serve_answer *answer, uint32_t index, int call_index,
                             const cJSON *call, const char *fragment)
{
    struct serve_choice *choice = &answer->choices[index];
    cJSON *list = cJSON_CreateArray();
    if (fragment) {
        cJSON *event = add_item_event(list, choice, "response.function_call_arguments.delta");
        cJSON_AddStringToObject(event, "delta", fragment);
    } else {
        open_item(list, answer, choice, SERVE_ITEM_CALL, 0, call);
        choice->item.call = call_index;
    }
    return list;
}

static cJSON *responses_finish(const struct serve_answer *answer, uint32_t index)
{
    struct serve_choice *choice = &answer->choices[index];
    cJSON *list = cJSON_CreateArray();
    if (choice->item.kind == SERVE_ITEM_NONE && !choice->items) { // a message without text
        open_item(list, answer, choice, SERVE_ITEM_MESSAGE, 0, NULL);
    }
    close_item(list, choice);
    add_response_event(list, answer, is_cut(choice) ? "response.incomplete" : "response.completed");
    serve_add_timings(cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1), answer, index);
    return list;
}

const struct serve_format serve_format_responses = {
    .framing = SERVE_FRAMES_NAMED,
    .id_prefix = "resp_",
    .end = "",
    .whole = responses_whole,
    .begin = responses_begin,
    .progress = responses_progress,
    .token = responses_token,
    .thought = responses_thought,
    .call = responses_call,
    .finish = responses_finish,
    .probs = serve_list_probs,
};
