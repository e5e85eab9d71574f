// The variables of the chat template, and the requests that only write a conversation.
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/api/serve_conversation.h"
#include "cli/serve/api/serve_handlers.h"

#include <stdlib.h>
#include <string.h>

// Adds a variable that an object does not have; takes over the value.
static void add_variable(cJSON *own, const char *name, cJSON *value)
{
    if (cJSON_IsObject(own)) {
        cli_json_add_first(own, name, value);
    } else {
        cJSON_Delete(value);
    }
}

// Adds the variables of OpenAI's reasoning_effort: none turns thoughts off.
static void add_effort(cJSON *own, const char *effort)
{
    const bool is_off = effort && strcmp(effort, "none") == 0;
    if (is_off) {
        add_variable(own, "enable_thinking", cJSON_CreateFalse());
        add_variable(own, "thinking", cJSON_CreateFalse());
    } else if (effort && effort[0]) {
        add_variable(own, "reasoning_effort", cJSON_CreateString(effort));
    }
}

void serve_add_variables(const struct serve_api *api, cJSON *body)
{
    static const char thinking[] = "enable_thinking";
    const char *variables = api->variables;
    const char *source = glinfer_chat_template_text(serve_scheduler_tokenizer(api->scheduler));
    const bool can_think = source && strstr(source, thinking);
    cJSON *own = cli_json_get(body, "chat_template_kwargs"), *item;
    if (!own || cJSON_IsNull(own)) {
        cJSON_DeleteItemFromObjectCaseSensitive(body, "chat_template_kwargs");
        own = cJSON_AddObjectToObject(body, "chat_template_kwargs");
    }
    add_effort(own, cli_json_get_text(body, "reasoning_effort"));
    cJSON *all = variables ? cli_json_parse_all(variables, strlen(variables), NULL) : NULL;
    cJSON_ArrayForEach(item, all)
    {
        add_variable(own, item->string, cJSON_Duplicate(item, 1));
    }
    if (can_think) { // many templates close the thought at once otherwise
        add_variable(own, thinking, cJSON_CreateTrue());
    }
    if (cJSON_IsObject(own) && !own->child) { // a template chosen by name takes no variables
        cJSON_DeleteItemFromObjectCaseSensitive(body, "chat_template_kwargs");
    }
    cJSON_Delete(all);
}

// Replies with the conversation of a request: its text, or the number of its tokens.
static void write_conversation(const struct serve_api *api, cJSON *body, bool is_count,
                               struct serve_reply *reply)
{
    struct serve_fields fields = {.object = body};
    const struct glinfer_tokenizer *tokenizer = serve_scheduler_tokenizer(api->scheduler);
    struct cli_ids ids = {0};
    struct cli_bytes text = {0};
    struct serve_tools tools = {0};
    serve_add_variables(api, body);
    struct serve_task *task = serve_task_create(NULL);
    serve_tools_read(&fields, tokenizer, task, &tools);
    if (fields.is_wrong ||
        !serve_read_conversation(&fields, tokenizer, &tools, &ids, is_count ? NULL : &text, NULL)) {
        serve_reply_refuse(reply, &fields);
    } else {
        cJSON *json = cJSON_CreateObject();
        if (is_count) {
            cJSON_AddNumberToObject(json, "input_tokens", (double)ids.count);
            cJSON_AddStringToObject(json, "object", "response.input_tokens");
        } else {
            cJSON_AddItemToObject(json, "prompt", cli_json_text(text.data, text.size));
        }
        serve_reply_json(reply, 200, json);
    }
    serve_tools_finish(&tools);
    serve_task_unref(task);
    free(ids.items);
    cli_bytes_finish(&text);
    cJSON_Delete(body);
}

void serve_handle_template(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    write_conversation(api, body, false, reply);
}

void serve_handle_count(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    write_conversation(api, body, true, reply);
}
