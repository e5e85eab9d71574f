#include "cli/serve/api/serve_encode.h"

#include "cli/common/cli_json_read.h"
#include "cli/common/cli_session.h"

#include <stdlib.h>
#include <string.h>

static bool encode_json(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                        const cJSON *messages, const cJSON *tools,
                        const struct serve_ending *ending)
{
    struct glinfer_chat_json chat;
    struct glinfer_error err;
    const cJSON *own = serve_fields_get(fields, "chat_template_kwargs");
    char *text = cJSON_PrintUnformatted(messages);
    char *tool_text = tools ? cJSON_PrintUnformatted(tools) : NULL;
    char *variables = own ? cJSON_PrintUnformatted(own) : NULL;
    glinfer_chat_json_init(&chat);
    chat.messages = text;
    chat.tools = tool_text;
    chat.variables = variables;
    chat.control_fence = ending->fence[0] ? ending->fence : NULL;
    chat.end = ending->end;
    const bool is_done = ending->text ? cli_chat_json_text(tokenizer, &chat, ending->text, &err)
                                      : cli_chat_json_ids(tokenizer, &chat, ending->ids, &err);
    cJSON_free(text);
    cJSON_free(tool_text);
    cJSON_free(variables);
    return is_done || serve_fields_refuse(fields, 400, "%s", err.message);
}

// Adds members that some templates need: a description, parameters, and the type of parameters that
// are one of several strings.
static void complete_tool(cJSON *tool)
{
    cJSON *function = cli_json_get(tool, "function");
    if (!cli_json_get(function, "description")) {
        cJSON_AddStringToObject(function, "description", "");
    }
    if (!cJSON_IsObject(cli_json_get(function, "parameters"))) {
        cJSON_DeleteItemFromObjectCaseSensitive(function, "parameters");
        cJSON *parameters = cJSON_AddObjectToObject(function, "parameters");
        cJSON_AddStringToObject(parameters, "type", "object");
        cJSON_AddObjectToObject(parameters, "properties");
    }
    cJSON *item;
    cJSON_ArrayForEach(item, cli_json_get(cli_json_get(function, "parameters"), "properties"))
    {
        const cJSON *first = cJSON_GetArrayItem(cli_json_get(item, "enum"), 0);
        if (cJSON_IsString(first) && !cli_json_get(item, "type")) {
            cJSON_AddStringToObject(item, "type", "string");
        }
    }
}

bool serve_encode(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                  const cJSON *messages, const cJSON *tools, const struct serve_ending *ending)
{
    const struct serve_fields before = *fields;
    cJSON *tool;
    if (encode_json(fields, tokenizer, messages, tools, ending) || !tools) {
        return !fields->is_wrong;
    }
    cJSON *own = cJSON_Duplicate(tools, 1);
    cJSON_ArrayForEach(tool, own)
    {
        complete_tool(tool);
    }
    *fields = before;
    const bool is_done = encode_json(fields, tokenizer, messages, own, ending);
    cJSON_Delete(own);
    return is_done;
}

//-- places ----------------------------------------------------------------------------------------

// Adds the number of tokens that a conversation has in common with the one that was encoded, if its
// template takes it.
static void add_common(const struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                       const cJSON *messages, const cJSON *tools, const struct serve_ending *ending,
                       enum glinfer_chat_end end, struct serve_places *places)
{
    struct serve_fields own = {.object = fields->object}; // for mistakes of this conversation
    struct cli_ids ids = {0};
    struct serve_ending other = *ending;
    size_t n = 0;
    other.ids = &ids;
    other.end = end;
    if (serve_encode(&own, tokenizer, messages, tools, &other)) {
        while (n < ids.count && n < ending->ids->count && ids.items[n] == ending->ids->items[n]) {
            n++;
        }
    }
    serve_places_add(places, n < ending->ids->count ? n : 0);
    free(ids.items);
}

// Returns the first messages before message number `at`, then one of the user that differs from it
// at the first character.
static cJSON *replace_rest(const cJSON *messages, int at)
{
    cJSON *other = cJSON_Duplicate(messages, 1), *user = cJSON_CreateObject();
    const char *text = cli_json_get_text(cJSON_GetArrayItem(messages, at), "content");
    while (cJSON_GetArraySize(other) > at) {
        cJSON_DeleteItemFromArray(other, at);
    }
    cJSON_AddStringToObject(user, "role", "user");
    cJSON_AddStringToObject(user, "content", text && text[0] == '0' ? "1" : "0");
    cJSON_AddItemToArray(other, user);
    return other;
}

void serve_encode_places(const struct serve_fields *fields,
                         const struct glinfer_tokenizer *tokenizer, const cJSON *messages,
                         const cJSON *tools, const struct serve_ending *ending,
                         struct serve_places *places)
{
    const cJSON *message;
    int n_system = 0, last = -1, at = 0;
    cJSON_ArrayForEach(message, messages)
    {
        const char *role = cli_json_get_text(message, "role");
        n_system += n_system == at && strcmp(role, "system") == 0;
        last = strcmp(role, "user") == 0 ? at : last;
        at++;
    }
    const int turns[] = {n_system > 0 || tools ? n_system : at, last > n_system ? last : at};
    for (int i = 0; i < 2; i++) {
        if (turns[i] < at) {
            cJSON *other = replace_rest(messages, turns[i]);
            add_common(fields, tokenizer, other, tools, ending, ending->end, places);
            cJSON_Delete(other);
        }
    }
    if (ending->end == GLINFER_CHAT_END_ANSWER) {
        add_common(fields, tokenizer, messages, tools, ending, GLINFER_CHAT_END_MESSAGE, places);
    }
}
