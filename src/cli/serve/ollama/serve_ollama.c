// Requests of Ollama's API: their fields are renamed to those of OpenAI's, and the answer comes in
// Ollama's shape.
#include "cli/serve/ollama/serve_ollama.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/api/serve_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- fields ----------------------------------------------------------------------------------------

// Adds up a duration of Go, such as "1h30m". Returns false for another text.
static bool read_duration(const char *text, double *seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"h", 3600},
                 {"m", 60},    {"s", 1},     {"", 1}};
    const double sign = text[0] == '-' ? -1 : 1;
    text += text[0] == '-' || text[0] == '+';
    *seconds = 0;
    do {
        size_t i = 0;
        char *end;
        const double n =
            text[0] == '.' || (text[0] >= '0' && text[0] <= '9') ? strtod(text, &end) : -1;
        if (n < 0) {
            return false;
        }
        while (strncmp(end, units[i].name, strlen(units[i].name)) != 0) {
            i++;
        }
        text = end + strlen(units[i].name);
        *seconds += sign * n * units[i].seconds;
        if (!units[i].name[0]) { // a number alone
            return !text[0];
        }
    } while (text[0]);
    return true;
}

bool serve_ollama_read_keep(const cJSON *body, double *seconds, bool *is_there)
{
    const cJSON *keep = cli_json_get(body, "keep_alive");
    *is_there = keep && !cJSON_IsNull(keep);
    return (cli_json_is_number(keep) || cJSON_IsString(keep)) &&
           read_duration(keep->valuestring, seconds);
}

// Returns true for a request that only loads the model, or unloads it.
static bool is_empty(const cJSON *body)
{
    const cJSON *prompt = cli_json_get(body, "prompt"), *messages = cli_json_get(body, "messages");
    return (!prompt || (cJSON_IsString(prompt) && !prompt->valuestring[0])) &&
           (!messages || (cJSON_IsArray(messages) && !messages->child)) &&
           !cli_json_get(body, "input");
}

bool serve_ollama_is_farewell(const cJSON *body)
{
    double seconds;
    bool is_there;
    return serve_ollama_read_keep(body, &seconds, &is_there) && seconds == 0 && is_empty(body);
}

bool serve_ollama_check_model(const struct serve_api *api, const cJSON *body,
                              struct serve_reply *reply)
{
    static const char latest[] = ":latest";
    const char *name = cli_json_get_text(body, "model");
    name = name ? name : cli_json_get_text(body, "name");
    const size_t size = name ? strlen(name) : 0, n = strlen(latest);
    double seconds;
    bool has_keep;
    if (size == 0) {
        serve_reply_error(reply, 400, "model is required");
        return false;
    }
    const bool is_latest = size > n && strcmp(name + size - n, latest) == 0;
    if (!serve_api_has_model(api, name, size) &&
        !(is_latest && serve_api_has_model(api, name, size - n))) {
        serve_reply_error(reply, 404, "model '%s' not found; this server has %s", name,
                          api->model_name);
        return false;
    }
    if (!serve_ollama_read_keep(body, &seconds, &has_keep) && has_keep) {
        serve_reply_error(reply, 400,
                          "invalid \"keep_alive\": expected seconds, or a duration such as \"5m\"");
        return false;
    }
    return true;
}

// Moves a member to an object under a name, in place of one there.
static void move(cJSON *from, const char *name, cJSON *to, const char *new_name)
{
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(from, name);
    if (item && !cJSON_IsNull(item)) {
        cli_json_set(to, new_name, item);
    } else {
        cJSON_Delete(item);
    }
}

// Moves "options" to the fields of the request.
static void take_options(cJSON *body)
{
    static const char *const names[][2] = {
        {"num_predict", "n_predict"},
        {"num_keep", "n_keep"},
        {"temperature", "temperature"},
        {"top_k", "top_k"},
        {"top_p", "top_p"},
        {"min_p", "min_p"},
        {"typical_p", "typical_p"},
        {"seed", "seed"},
        {"stop", "stop"},
        {"repeat_last_n", "repeat_last_n"},
        {"repeat_penalty", "repeat_penalty"},
        {"presence_penalty", "presence_penalty"},
        {"frequency_penalty", "frequency_penalty"},
        {"mirostat", "mirostat"},
        {"mirostat_tau", "mirostat_tau"},
        {"mirostat_eta", "mirostat_eta"},
    };
    cJSON *options = cJSON_DetachItemFromObjectCaseSensitive(body, "options");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        move(options, names[i][0], body, names[i][1]);
    }
    int64_t n;
    if (cli_json_int(cli_json_get(body, "n_predict"), &n) && n < -1) { // -2 fills the context
        cli_json_set(body, "n_predict", cJSON_CreateNumber(-1));
    }
    cJSON_Delete(options);
}

// Turns "format" into a JSON schema, and "think" into variables of the chat template.
static void take_shape(cJSON *body)
{
    cJSON *format = cJSON_DetachItemFromObjectCaseSensitive(body, "format");
    cJSON *think = cJSON_DetachItemFromObjectCaseSensitive(body, "think");
    if (cJSON_IsObject(format)) {
        cli_json_set(body, "json_schema", format);
        format = NULL;
    } else if (cJSON_IsString(format) && strcmp(format->valuestring, "json") == 0) {
        cJSON *own = cJSON_CreateObject();
        cJSON_AddStringToObject(own, "type", "json_object");
        cli_json_set(body, "response_format", own);
    }
    if (cJSON_IsBool(think)) {
        cJSON *variables = cJSON_CreateObject();
        cJSON_AddBoolToObject(variables, "enable_thinking", cJSON_IsTrue(think));
        cJSON_AddBoolToObject(variables, "thinking", cJSON_IsTrue(think));
        cli_json_set(body, "chat_template_kwargs", variables);
    } else if (cJSON_IsString(think)) {
        cli_json_set(body, "reasoning_effort", cJSON_CreateString(think->valuestring));
    }
    cJSON_Delete(format);
    cJSON_Delete(think);
    cJSON_DeleteItemFromObjectCaseSensitive(body, "n"); // there is one answer
    cJSON_DeleteItemFromObjectCaseSensitive(body, "n_cmpl");
    if (!cli_json_get(body, "stream")) {
        cJSON_AddTrueToObject(body, "stream");
    }
}

// Gives calls the ids that OpenAI's have; those of results follow in the same order.
static void number_calls(cJSON *messages)
{
    cJSON *message, *call;
    char id[24];
    unsigned n_calls = 0, n_results = 0;
    cJSON_ArrayForEach(message, messages)
    {
        const char *role = cli_json_get_text(message, "role");
        cJSON_ArrayForEach(call, cli_json_get(message, "tool_calls"))
        {
            snprintf(id, sizeof(id), "call_%u", n_calls++);
            if (cJSON_IsObject(call)) {
                cli_json_add_first(call, "id", cJSON_CreateString(id));
                cli_json_add_first(call, "type", cJSON_CreateString("function"));
            }
        }
        if (role && strcmp(role, "tool") == 0) {
            snprintf(id, sizeof(id), "call_%u", n_results++);
            cli_json_add_first(message, "tool_call_id", cJSON_CreateString(id));
            move(message, "tool_name", message, "name");
        }
        move(message, "thinking", message, "reasoning_content");
        if (cJSON_GetArraySize(cli_json_get(message, "images")) > 0) { // refused as OpenAI's are
            cJSON *part = cJSON_CreateObject();
            cJSON_AddStringToObject(part, "type", "image_url");
            cli_json_set(message, "content", cJSON_CreateArray());
            cJSON_AddItemToArray(cli_json_get(message, "content"), part);
        }
    }
}

//-- handlers --------------------------------------------------------------------------------------

// Replies that the model is loaded or unloaded, which a request without a prompt asks for.
static void reply_loaded(cJSON *body, bool is_chat, struct serve_reply *reply)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "model", cli_json_get_text(body, "model"));
    cJSON_AddStringToObject(json, "created_at", "1970-01-01T00:00:00Z");
    if (is_chat) {
        cJSON *message = cJSON_AddObjectToObject(json, "message");
        cJSON_AddStringToObject(message, "role", "assistant");
        cJSON_AddStringToObject(message, "content", "");
    } else {
        cJSON_AddStringToObject(json, "response", "");
    }
    cJSON_AddStringToObject(json, "done_reason",
                            serve_ollama_is_farewell(body) ? "unload" : "load");
    cJSON_AddBoolToObject(json, "done", true);
    serve_reply_json(reply, 200, json);
    cJSON_Delete(body);
}

void serve_handle_ollama_chat(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    cJSON *messages = cli_json_get(body, "messages");
    if (!serve_ollama_check_model(api, body, reply)) {
        cJSON_Delete(body);
    } else if (is_empty(body)) {
        reply_loaded(body, true, reply);
    } else {
        take_options(body);
        take_shape(body);
        number_calls(messages);
        serve_chat(api, body, &serve_format_ollama_chat, reply);
    }
}

// Makes messages of a prompt and its system text.
static void make_messages(cJSON *body)
{
    static const char *const names[][2] = {{"system", "system"}, {"prompt", "user"}};
    cJSON *messages = cJSON_AddArrayToObject(body, "messages");
    for (size_t i = 0; i < 2; i++) {
        cJSON *text = cJSON_DetachItemFromObjectCaseSensitive(body, names[i][0]);
        if (text && !(cJSON_IsString(text) && !text->valuestring[0])) {
            cJSON *message = cli_json_append(messages);
            cJSON_AddStringToObject(message, "role", names[i][1]);
            cJSON_AddItemToObject(message, "content", text);
        } else {
            cJSON_Delete(text);
        }
    }
    move(body, "images", cJSON_GetArrayItem(messages, cJSON_GetArraySize(messages) - 1), "images");
}

void serve_handle_ollama_generate(const struct serve_api *api, cJSON *body,
                                  struct serve_reply *reply)
{
    const char *suffix = cli_json_get_text(body, "suffix");
    if (!serve_ollama_check_model(api, body, reply)) {
        cJSON_Delete(body);
    } else if (is_empty(body)) {
        reply_loaded(body, false, reply);
    } else if (suffix && suffix[0]) {
        serve_reply_error(reply, 400, "\"suffix\" is not supported");
        cJSON_Delete(body);
    } else {
        take_options(body);
        take_shape(body);
        if (cJSON_IsTrue(cli_json_get(body, "raw"))) {
            serve_complete(api, body, &serve_format_ollama_text, reply);
            return;
        }
        make_messages(body);
        number_calls(cli_json_get(body, "messages"));
        serve_chat(api, body, &serve_format_ollama_text, reply);
    }
}

static void embed(const struct serve_api *api, cJSON *body, const struct serve_format *format,
                  struct serve_reply *reply)
{
    if (!serve_ollama_check_model(api, body, reply)) {
        cJSON_Delete(body);
        return;
    }
    serve_embed(api, body, format, false, reply);
}

void serve_handle_ollama_embed(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    embed(api, body, &serve_format_ollama_embed, reply);
}

void serve_handle_ollama_embedding(const struct serve_api *api, cJSON *body,
                                   struct serve_reply *reply)
{
    move(body, "prompt", body, "input");
    embed(api, body, &serve_format_ollama_embedding, reply);
}
