// Requests of OpenAI's Responses API: their items become the messages of a chat.
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/api/serve_request.h"

#include <stdio.h>
#include <string.h>

// The messages that are made of items.
struct conversation {
    struct serve_fields fields;
    cJSON *messages; // owned
    int item;        // index of the item being read
};

static bool refuse(struct conversation *to, const char *reason)
{
    return serve_fields_refuse(&to->fields, 400, "invalid \"input[%d]\": %s", to->item, reason);
}

//-- contents --------------------------------------------------------------------------------------

// Appends the text of a content: a string, or a list of texts.
static bool read_text(struct conversation *to, const cJSON *content, struct cli_bytes *text)
{
    const cJSON *piece;
    cli_bytes_add(text, cJSON_IsString(content) ? content->valuestring : "");
    if (!cJSON_IsString(content) && !cJSON_IsArray(content)) {
        return refuse(to, "expected a string, or a list of {\"type\": \"input_text\", \"text\": "
                          "...}");
    }
    const cJSON *list = cJSON_IsArray(content) ? content : NULL;
    cJSON_ArrayForEach(piece, list)
    {
        const char *type = cli_json_get_text(piece, "type");
        const char *own = cli_json_get_text(piece, "text");
        own = own ? own : cli_json_get_text(piece, "refusal");
        if (!own || !type || (!strstr(type, "text") && strcmp(type, "refusal") != 0)) {
            return refuse(to, "expected contents of the type input_text or output_text; images, "
                              "files and sound are not supported");
        }
        cli_bytes_add(text, text->size > 0 ? "\n" : "");
        cli_bytes_add(text, own);
    }
    return true;
}

static cJSON *add_message(struct conversation *to, const char *role, const char *content)
{
    cJSON *message = cli_json_append(to->messages);
    cJSON_AddStringToObject(message, "role", role);
    cJSON_AddStringToObject(message, "content", content);
    return message;
}

// Returns the last message if it is one of the assistant that may get more, else a new one.
static cJSON *open_assistant(struct conversation *to)
{
    cJSON *last = cJSON_GetArrayItem(to->messages, cJSON_GetArraySize(to->messages) - 1);
    const char *role = cli_json_get_text(last, "role");
    return role && strcmp(role, "assistant") == 0 ? last : add_message(to, "assistant", "");
}

//-- items -----------------------------------------------------------------------------------------

static bool take_message(struct conversation *to, const cJSON *item)
{
    struct cli_bytes text = {0};
    const char *role = cli_json_get_text(item, "role");
    if (!role) {
        return refuse(to, "missing \"role\"");
    }
    const bool is_done = read_text(to, cli_json_get(item, "content"), &text);
    cJSON *last = cJSON_GetArrayItem(to->messages, cJSON_GetArraySize(to->messages) - 1);
    const char *before = cli_json_get_text(last, "content");
    const bool is_thought = cli_json_get(last, "reasoning_content") && before && !before[0] &&
                            !cli_json_get(last, "tool_calls");
    if (is_done && strcmp(role, "assistant") == 0 && is_thought) { // its thought comes before it
        cli_json_set(last, "content", cJSON_CreateString(text.data));
    } else if (is_done) {
        add_message(to, role, text.data);
    }
    cli_bytes_finish(&text);
    return is_done;
}

static bool take_call(struct conversation *to, const cJSON *item)
{
    const char *id = cli_json_get_text(item, "call_id"), *name = cli_json_get_text(item, "name");
    const char *arguments = cli_json_get_text(item, "arguments");
    if (!id || !name || !arguments) {
        return refuse(to, "expected \"call_id\", \"name\" and \"arguments\"");
    }
    cJSON *message = open_assistant(to), *calls = cli_json_get(message, "tool_calls");
    cJSON *call = cli_json_append(calls ? calls : cJSON_AddArrayToObject(message, "tool_calls"));
    cJSON_AddStringToObject(call, "id", id);
    cJSON_AddStringToObject(call, "type", "function");
    cJSON *function = cJSON_AddObjectToObject(call, "function");
    cJSON_AddStringToObject(function, "name", name);
    cJSON_AddStringToObject(function, "arguments", arguments);
    return true;
}

static bool take_result(struct conversation *to, const cJSON *item)
{
    struct cli_bytes text = {0};
    const char *id = cli_json_get_text(item, "call_id");
    const bool is_done =
        id ? read_text(to, cli_json_get(item, "output"), &text) : refuse(to, "missing \"call_id\"");
    if (is_done) {
        cJSON_AddStringToObject(add_message(to, "tool", text.data), "tool_call_id", id);
    }
    cli_bytes_finish(&text);
    return is_done;
}

static bool take_thought(struct conversation *to, const cJSON *item)
{
    struct cli_bytes text = {0};
    const cJSON *content = cli_json_get(item, "content");
    if (!content || cJSON_IsNull(content)) { // an encrypted one
        return true;
    }
    const bool is_done = read_text(to, content, &text);
    if (is_done && text.size > 0) {
        cli_json_set(add_message(to, "assistant", ""), "reasoning_content",
                     cJSON_CreateString(text.data));
    }
    cli_bytes_finish(&text);
    return is_done;
}

static bool take_item(struct conversation *to, const cJSON *item)
{
    static const struct {
        const char *type;
        bool (*take)(struct conversation *to, const cJSON *item);
    } kinds[] = {
        {"message", take_message},
        {"function_call", take_call},
        {"function_call_output", take_result},
        {"reasoning", take_thought},
    };
    const char *type = cli_json_get_text(item, "type");
    if (!cJSON_IsObject(item)) {
        return refuse(to, "expected an object");
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].type, type ? type : "message") == 0) {
            return kinds[i].take(to, item);
        }
    }
    return serve_fields_refuse(&to->fields, 400,
                               "invalid \"input[%d]\": unknown type \"%.64s\"; expected message, "
                               "function_call, function_call_output or reasoning",
                               to->item, type);
}

// Puts the instructions before the conversation, within its system message if it begins with one.
static void add_instructions(cJSON *messages, const char *instructions)
{
    cJSON *first = cJSON_GetArrayItem(messages, 0);
    const char *role = cli_json_get_text(first, "role");
    struct cli_bytes text = {0};
    cli_bytes_add(&text, instructions);
    if (role && (strcmp(role, "system") == 0 || strcmp(role, "developer") == 0)) {
        cli_bytes_add(&text, "\n\n");
        cli_bytes_add(&text, cli_json_get_text(first, "content"));
        cli_json_set(first, "content", cJSON_CreateString(text.data));
    } else {
        cJSON *message = cJSON_CreateObject();
        cJSON_AddStringToObject(message, "role", "system");
        cJSON_AddStringToObject(message, "content", text.data);
        cJSON_InsertItemInArray(messages, 0, message);
    }
    cli_bytes_finish(&text);
}

//-- the request -----------------------------------------------------------------------------------

static void take_input(struct conversation *to, const cJSON *body)
{
    const cJSON *input = cli_json_get(body, "input"), *item;
    const char *instructions = cli_json_get_text(body, "instructions");
    if (cJSON_IsString(input)) {
        add_message(to, "user", input->valuestring);
    } else if (!cJSON_IsArray(input)) {
        serve_fields_refuse(&to->fields, 400,
                            "missing \"input\"; expected a string or a list of items");
    } else {
        cJSON_ArrayForEach(item, input)
        {
            if (!to->fields.is_wrong) {
                take_item(to, item);
            }
            to->item++;
        }
    }
    if (instructions && instructions[0]) {
        add_instructions(to->messages, instructions);
    }
}

// Turns tools into those of chats.
static void take_tools(struct serve_fields *fields, cJSON *body)
{
    const cJSON *tools = cli_json_get(body, "tools"), *tool;
    cJSON *choice = cli_json_get(body, "tool_choice");
    cJSON *own = cJSON_IsArray(tools) ? cJSON_CreateArray() : NULL;
    tools = own ? tools : NULL;
    cJSON_ArrayForEach(tool, tools)
    {
        const char *type = cli_json_get_text(tool, "type");
        if (!type || strcmp(type, "function") != 0) {
            serve_fields_refuse(fields, 400,
                                "invalid \"tools\": unknown type \"%.64s\"; expected function",
                                type ? type : "");
        }
        cJSON *copy = cli_json_append(own);
        cJSON_AddStringToObject(copy, "type", "function");
        cJSON_AddItemToObject(copy, "function", cJSON_Duplicate(tool, 1));
        cJSON_DeleteItemFromObjectCaseSensitive(cli_json_get(copy, "function"), "type");
    }
    if (own) {
        cli_json_set(body, "tools", own);
    }
    const char *name = cJSON_IsObject(choice) ? cli_json_get_text(choice, "name") : NULL;
    if (name) {
        cJSON *function = cJSON_CreateObject();
        cJSON_AddStringToObject(function, "name", name);
        cli_json_set(choice, "function", function);
    }
}

// Turns text.format into response_format.
static void take_format(cJSON *body)
{
    cJSON *format = cJSON_DetachItemFromObjectCaseSensitive(cli_json_get(body, "text"), "format");
    const char *type = cli_json_get_text(format, "type");
    if (type && strcmp(type, "json_schema") == 0) {
        cJSON *own = cJSON_CreateObject();
        cJSON_AddStringToObject(own, "type", type);
        cJSON_AddItemToObject(own, "json_schema", format);
        format = own;
    }
    if (format) {
        cli_json_set(body, "response_format", format);
    }
}

static void rename_member(cJSON *body, const char *name, const char *new_name)
{
    const cJSON *item = cli_json_get(body, name);
    if (item && !cJSON_IsNull(item)) {
        cli_json_set(body, new_name, cJSON_Duplicate(item, 1));
    }
}

// Turns the body of a request into that of a chat. Replies and returns false after a mistake.
static bool translate(cJSON *body, struct serve_reply *reply)
{
    static const char *const echoed[] = {
        "instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "temperature",
        "top_p",        "tool_choice",       "tools"};
    static const char *const absent[] = {"previous_response_id", "conversation", "background",
                                         "prompt"};
    struct conversation to = {.fields.object = body, .messages = cJSON_CreateArray()};
    cJSON *request = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof(echoed) / sizeof(echoed[0]); i++) {
        const cJSON *item = cli_json_get(body, echoed[i]);
        if (item) {
            cJSON_AddItemToObject(request, echoed[i], cJSON_Duplicate(item, 1));
        }
    }
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        const cJSON *item = serve_fields_get(&to.fields, absent[i]);
        if (item && !cJSON_IsFalse(item)) {
            serve_fields_refuse(&to.fields, 400,
                                "\"%s\" is not supported: this server keeps no responses; send "
                                "the whole conversation as \"input\"",
                                absent[i]);
        }
    }
    take_input(&to, body);
    take_tools(&to.fields, body);
    take_format(body);
    rename_member(body, "max_output_tokens", "max_tokens");
    cJSON *effort = cJSON_Duplicate(cli_json_get(cli_json_get(body, "reasoning"), "effort"), 1);
    if (cJSON_IsString(effort)) {
        cli_json_set(body, "reasoning_effort", effort);
    } else {
        cJSON_Delete(effort);
    }
    cJSON_DeleteItemFromObjectCaseSensitive(body, "top_logprobs");
    cJSON_DeleteItemFromObjectCaseSensitive(body, "n"); // there is one answer
    cJSON_DeleteItemFromObjectCaseSensitive(body, "n_cmpl");
    cli_json_set(body, "messages", to.messages);
    cli_json_set(body, "response_request", request);
    if (to.fields.is_wrong) {
        serve_reply_refuse(reply, &to.fields);
    }
    return !to.fields.is_wrong;
}

void serve_handle_responses(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    if (translate(body, reply)) {
        serve_chat(api, body, &serve_format_responses, reply);
    } else {
        cJSON_Delete(body);
    }
}

void serve_handle_responses_count(const struct serve_api *api, cJSON *body,
                                  struct serve_reply *reply)
{
    if (translate(body, reply)) {
        serve_handle_count(api, body, reply);
    } else {
        cJSON_Delete(body);
    }
}
