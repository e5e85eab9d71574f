#include "cli/serve/api/serve_conversation.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/common/cli_random.h"
#include "cli/serve/api/serve_encode.h"
#include "cli/serve/calls/serve_styles.h"

#include <stdlib.h>
#include <string.h>

static bool is_role(const cJSON *message, const char *role)
{
    const char *own = cli_json_get_text(message, "role");
    return own && strcmp(own, role) == 0;
}

//-- for a template with tools ---------------------------------------------------------------------

// Replaces the arguments of calls, texts in OpenAI's API, with the objects that templates expect.
static void open_arguments(struct serve_fields *fields, cJSON *message)
{
    cJSON *call;
    cJSON_ArrayForEach(call, cli_json_get(message, "tool_calls"))
    {
        cJSON *function = cli_json_get(call, "function");
        const cJSON *own = cli_json_get(function, "arguments");
        cJSON *arguments = cJSON_IsString(own) ? cli_json_parse_all(own->valuestring,
                                                                    strlen(own->valuestring), NULL)
                                               : NULL;
        if (own && !cJSON_IsString(own) && !cJSON_IsObject(own) && !cJSON_IsNull(own)) {
            serve_fields_expect(fields, "arguments", "an object or the text of one");
        }
        if (cJSON_IsObject(arguments)) {
            cJSON_ReplaceItemInObjectCaseSensitive(function, "arguments", arguments);
        } else {
            cJSON_Delete(arguments);
        }
    }
}

// Copies the thought before a call to the member that templates with channels read, unless the
// message has content.
static void name_thought(cJSON *message)
{
    const cJSON *content = cli_json_get(message, "content");
    const cJSON *thought = cli_json_get(message, "reasoning_content");
    if (cJSON_IsString(thought) && cli_json_get(message, "tool_calls") &&
        !cli_json_get(message, "thinking") &&
        !(cJSON_IsString(content) && content->valuestring[0])) {
        cJSON_AddStringToObject(message, "thinking", thought->valuestring);
    }
}

// Refuses the messages of OpenAI's functions, the predecessors of tools.
static void refuse_functions(struct serve_fields *fields, const cJSON *message)
{
    if (is_role(message, "function") || cli_json_get(message, "function_call")) {
        serve_fields_refuse(fields, 400,
                            "invalid message: \"function_call\" and the role function are not "
                            "supported; use \"tool_calls\" and the role tool");
    }
}

// Appends the content of a message: a text, or a list of parts all of which are texts, with a
// separator between them. Only a message of the assistant, which may call tools, needs no content;
// that of others may be null.
static bool read_content(struct serve_fields *fields, const cJSON *message, const char *separator,
                         struct cli_bytes *text)
{
    const cJSON *content = cli_json_get(message, "content"), *item;
    const char *role = cli_json_get(message, "role")->valuestring;
    if (cJSON_IsString(content)) {
        cli_bytes_add(text, content->valuestring);
        return true;
    }
    cli_bytes_append(text, "", 0);
    if (!content || cJSON_IsNull(content)) { // a tool may have no result
        return content || strcmp(role, "assistant") == 0 ||
               serve_fields_refuse(fields, 400,
                                   "invalid message of the role %.64s: missing \"content\"", role);
    }
    cJSON_ArrayForEach(item, content)
    {
        const cJSON *piece = cli_json_get(item, "text");
        const char *type = cli_json_get_text(item, "type");
        if (!cJSON_IsString(piece) || (type && !strstr(type, "text"))) {
            return serve_fields_refuse(
                fields, 400,
                "invalid \"content\": expected a string or a list of {\"type\": \"text\", "
                "\"text\": ...}; images and sound are not supported");
        }
        cli_bytes_append(text, separator, text->size > 0 ? strlen(separator) : 0);
        cli_bytes_add(text, piece->valuestring);
    }
    return cJSON_IsArray(content) ||
           serve_fields_expect(fields, "content", "a string or a list of texts");
}

// Returns a copy of the messages with contents that are texts; NULL after a mistake. Parts of a
// last message of the assistant are joined without newlines, since the model may continue it.
static cJSON *copy_messages(struct serve_fields *fields)
{
    const cJSON *list = serve_fields_get(fields, "messages"), *item;
    cJSON *copy = cJSON_CreateArray();
    cJSON_ArrayForEach(item, list)
    {
        struct cli_bytes text = {0};
        cJSON *message = cJSON_Duplicate(item, 1);
        cJSON_AddItemToArray(copy, message);
        if (!cJSON_IsObject(message) || !cJSON_IsString(cli_json_get(message, "role"))) {
            serve_fields_refuse(fields, 400, "invalid message: missing \"role\"");
            break;
        }
        const bool is_open = !item->next && is_role(message, "assistant");
        refuse_functions(fields, message);
        if (cJSON_GetArraySize(cli_json_get(message, "tool_calls")) == 0) {
            cJSON_DeleteItemFromObjectCaseSensitive(message, "tool_calls"); // calls nothing
        }
        if (read_content(fields, message, is_open ? "" : "\n", &text)) {
            cli_json_set(message, "content", cJSON_CreateString(text.data));
        }
        cli_bytes_finish(&text);
        if (is_role(message, "developer")) {
            cJSON_ReplaceItemInObjectCaseSensitive(message, "role", cJSON_CreateString("system"));
        }
        open_arguments(fields, message);
        name_thought(message);
    }
    if (cJSON_GetArraySize(copy) == 0) {
        serve_fields_expect(fields, "messages", "a list of at least one message");
    }
    if (fields->is_wrong) {
        cJSON_Delete(copy);
        return NULL;
    }
    return copy;
}

//-- for a template without tools ------------------------------------------------------------------

static void append_tools(struct cli_bytes *text, const cJSON *tools)
{
    const cJSON *tool;
    cli_bytes_add(text, "You can call these tools:\n<tools>\n");
    cJSON_ArrayForEach(tool, tools)
    {
        cli_append_json(text, cli_json_get(tool, "function"));
        cli_bytes_add(text, "\n");
    }
    cli_bytes_add(text,
                  "</tools>\nTo call one, answer with its name and its arguments in this way and "
                  "with nothing else:\n<tool_call>\n{\"name\": \"...\", \"arguments\": {...}}\n"
                  "</tool_call>\nIts result follows between <tool_response> and </tool_response>.");
}

static void append_calls(const struct serve_call_style *style, const cJSON *message,
                         struct cli_bytes *text)
{
    const cJSON *calls = cli_json_get(message, "tool_calls");
    if (cJSON_IsArray(calls) && calls->child) {
        cli_bytes_add(text, text->size > 0 ? "\n" : "");
        serve_write_calls(style, calls, text);
    }
}

static void append_result(struct cli_bytes *text, const char *content)
{
    cli_bytes_add(text, text->size > 0 ? "\n<tool_response>\n" : "<tool_response>\n");
    cli_bytes_add(text, content);
    cli_bytes_add(text, "\n</tool_response>");
}

static void set_text(cJSON *message, const struct cli_bytes *text)
{
    cJSON_ReplaceItemInObjectCaseSensitive(message, "content", cJSON_CreateString(text->data));
}

// Describes the tools in the system message, which is added if it is missing.
static void tell_tools(cJSON *messages, const cJSON *tools)
{
    struct cli_bytes text = {0};
    cJSON *first = cJSON_GetArrayItem(messages, 0);
    if (!is_role(first, "system")) {
        first = cJSON_CreateObject();
        cJSON_AddStringToObject(first, "role", "system");
        cJSON_AddStringToObject(first, "content", "");
        cJSON_InsertItemInArray(messages, 0, first);
    }
    cli_bytes_add(&text, cli_json_get(first, "content")->valuestring);
    cli_bytes_add(&text, text.size > 0 ? "\n\n" : "");
    append_tools(&text, tools);
    set_text(first, &text);
    cli_bytes_finish(&text);
}

// Turns calls into text of the assistant, and consecutive results into one message of the user.
static void tell_calls(cJSON *messages)
{
    for (cJSON *message = messages->child, *next; message; message = next) {
        struct cli_bytes text = {0};
        const char *content = cli_json_get(message, "content")->valuestring;
        next = message->next;
        if (is_role(message, "tool")) {
            append_result(&text, content);
            while (next && is_role(next, "tool")) {
                cJSON *after = next->next;
                append_result(&text, cli_json_get(next, "content")->valuestring);
                cJSON_Delete(cJSON_DetachItemViaPointer(messages, next));
                next = after;
            }
            cJSON_ReplaceItemInObjectCaseSensitive(message, "role", cJSON_CreateString("user"));
        } else {
            cli_bytes_add(&text, content);
            append_calls(&serve_styles[SERVE_STYLE_TAGGED], message, &text);
        }
        set_text(message, &text);
        cli_bytes_finish(&text);
    }
}

// Turns calls into text of the assistant, with control tokens within fences.
static void write_calls(const struct serve_call_style *style, const char *fence, cJSON *messages)
{
    cJSON *message;
    cJSON_ArrayForEach(message, messages)
    {
        const cJSON *content = cli_json_get(message, "content");
        const cJSON *calls = cli_json_get(message, "tool_calls");
        if (cJSON_IsArray(calls) && calls->child && cJSON_IsString(content)) {
            struct cli_bytes text = {0}, own = {0};
            cli_bytes_add(&text, content->valuestring);
            serve_write_calls(style, calls, &own);
            serve_fence_marks(style, fence, own.data, &text);
            set_text(message, &text);
            cli_bytes_finish(&own);
            cli_bytes_finish(&text);
        }
    }
}

//-- for a template with results -------------------------------------------------------------------

// Returns the name of the tool whose call a message answers, NULL if it is not known.
static const char *name_of_call(const cJSON *calls, const cJSON *message)
{
    const cJSON *id = cli_json_get(message, "tool_call_id"), *call;
    const cJSON *name = cli_json_get(message, "name");
    cJSON_ArrayForEach(call, calls)
    {
        const cJSON *own = cli_json_get(call, "id");
        const cJSON *function = cli_json_get(call, "function");
        if (cJSON_IsString(id) && cJSON_IsString(own) &&
            strcmp(id->valuestring, own->valuestring) == 0) {
            name = cli_json_get(function, "name");
        }
    }
    return cJSON_IsString(name) ? name->valuestring : NULL;
}

// Adds the name of the tool to results without one, since FunctionGemma's template refuses those.
static void name_results(cJSON *messages)
{
    const cJSON *calls = NULL;
    cJSON *message;
    cJSON_ArrayForEach(message, messages)
    {
        const cJSON *own = cli_json_get(message, "tool_calls");
        calls = cJSON_IsArray(own) ? own : calls;
        const char *name = is_role(message, "tool") && !cli_json_get(message, "name")
                               ? name_of_call(calls, message)
                               : NULL;
        if (name) {
            cJSON_AddStringToObject(message, "name", name);
        }
    }
}

//-- for a template with joined messages -----------------------------------------------------------

// Adds the result in a message, as an object if it is one.
static void add_response(cJSON *responses, const cJSON *calls, const cJSON *message)
{
    const char *content = cli_json_get(message, "content")->valuestring;
    cJSON *response = cli_json_append(responses);
    cJSON *value = cli_json_parse_all(content, strlen(content), NULL);
    const char *name = name_of_call(calls, message);
    cJSON_AddStringToObject(response, "name", name ? name : "unknown");
    if (cJSON_IsObject(value)) {
        cJSON_AddItemToObject(response, "response", value);
    } else {
        cJSON_Delete(value);
        cJSON_AddStringToObject(response, "response", content);
    }
}

// Moves results, and the content after them, into the message with their calls.
static void join_calls(cJSON *messages)
{
    cJSON *message;
    cJSON_ArrayForEach(message, messages)
    {
        const cJSON *calls = cli_json_get(message, "tool_calls");
        cJSON *next = message->next, *responses = NULL;
        for (; cJSON_IsArray(calls) && next && is_role(next, "tool"); next = message->next) {
            responses = responses ? responses : cJSON_AddArrayToObject(message, "tool_responses");
            add_response(responses, calls, next);
            cJSON_Delete(cJSON_DetachItemViaPointer(messages, next));
        }
        if (responses && next && is_role(next, "assistant") &&
            !cJSON_IsArray(cli_json_get(next, "tool_calls"))) {
            struct cli_bytes text = {0};
            cli_bytes_add(&text, cli_json_get(message, "content")->valuestring);
            cli_bytes_add(&text, cli_json_get(next, "content")->valuestring);
            set_text(message, &text);
            cli_bytes_finish(&text);
            cJSON_Delete(cJSON_DetachItemViaPointer(messages, next));
        }
    }
}

//-- for all templates -----------------------------------------------------------------------------

static bool has_calls(const struct serve_fields *fields)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, serve_fields_get(fields, "messages"))
    {
        const cJSON *calls = cli_json_get(item, "tool_calls");
        if (is_role(item, "tool") || cJSON_GetArraySize(calls) > 0) {
            return true;
        }
    }
    return false;
}

// Refuses roles that are unknown to templates without tools and variables.
static void check_roles(struct serve_fields *fields, const cJSON *messages)
{
    const cJSON *message;
    cJSON_ArrayForEach(message, messages)
    {
        if (!is_role(message, "system") && !is_role(message, "user") &&
            !is_role(message, "assistant")) {
            serve_fields_refuse(fields, 400,
                                "invalid role: \"%.64s\"; expected system, user or assistant",
                                cli_json_get(message, "role")->valuestring);
        }
    }
}

// Reads how the conversation ends. A last message of the assistant is continued unless the request
// refuses that; a blank one is dropped.
static enum glinfer_chat_end read_end(struct serve_fields *fields, cJSON *messages)
{
    bool has_answer = true, is_continued = false;
    const int n = cJSON_GetArraySize(messages);
    cJSON *last = cJSON_GetArrayItem(messages, n - 1);
    const cJSON *calls = cli_json_get(last, "tool_calls");
    const cJSON *content = cli_json_get(last, "content");
    const bool is_open = is_role(last, "assistant") && !calls;
    const bool is_asked = serve_fields_bool(fields, "add_generation_prompt", &has_answer);
    if (!serve_fields_bool(fields, "continue_final_message", &is_continued) && !is_asked) {
        is_continued = is_open;
    }
    if (!is_continued) {
        return has_answer ? GLINFER_CHAT_END_ANSWER : GLINFER_CHAT_END_MESSAGE;
    }
    if (is_asked && has_answer) {
        serve_fields_refuse(
            fields, 400,
            "invalid \"continue_final_message\": \"add_generation_prompt\" is true too");
    } else if (!is_open) {
        serve_fields_refuse(fields, 400,
                            "cannot continue the last message: its role is not assistant, or it "
                            "calls tools");
    } else if (is_role(cJSON_GetArrayItem(messages, n - 2), "assistant")) {
        serve_fields_refuse(fields, 400,
                            "cannot continue the last message: the message before it is from the "
                            "assistant too");
    } else if (content->valuestring[strspn(content->valuestring, " \t\r\n")] == 0) {
        cJSON_DeleteItemFromArray(messages, n - 1);
        return GLINFER_CHAT_END_ANSWER;
    }
    return GLINFER_CHAT_END_CONTINUE;
}

// Rewrites calls and their results for the template. Returns the tools that the template gets.
static const cJSON *fit_calls(const struct serve_tools *tools, cJSON *messages,
                              char fence[SERVE_FENCE_SIZE])
{
    switch (tools->support) {
    case SERVE_TOOLS_UNKNOWN:
        tell_calls(messages);
        if (cJSON_GetArraySize(tools->list) > 0) {
            tell_tools(messages, tools->list);
        }
        return NULL;
    case SERVE_TOOLS_TOLD:
        if (!cli_random_letters(fence, SERVE_FENCE_SIZE - 1)) {
            fence[0] = 0; // marks are text then
        }
        write_calls(tools->style, fence, messages);
        return tools->list;
    case SERVE_TOOLS_JOINED:
        join_calls(messages);
        return tools->list;
    default:
        name_results(messages);
        return tools->list;
    }
}

bool serve_read_conversation(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                             const struct serve_tools *tools, struct cli_ids *ids,
                             struct cli_bytes *text, struct serve_places *places)
{
    struct serve_ending ending = {.ids = ids, .text = text};
    struct serve_tools own = *tools; // the list is borrowed
    cJSON *messages = copy_messages(fields);
    if (!messages) {
        return false;
    }
    if (!own.style && has_calls(fields)) {
        serve_tools_probe(&own, tokenizer);
    }
    if (!own.style && !serve_fields_get(fields, "chat_template_kwargs")) {
        check_roles(fields, messages);
    }
    ending.end = read_end(fields, messages);
    const cJSON *list = own.style ? fit_calls(&own, messages, ending.fence) : NULL;
    const bool is_done =
        !fields->is_wrong && serve_encode(fields, tokenizer, messages, list, &ending);
    if (is_done && places) {
        serve_encode_places(fields, tokenizer, messages, list, &ending, places);
    }
    cJSON_Delete(messages);
    return is_done;
}
