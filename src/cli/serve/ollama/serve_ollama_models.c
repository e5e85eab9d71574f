// The model of the server as Ollama tells it: /api/tags, /api/ps, /api/show; /api/pull, which has
// nothing to do; and the version.
#include "cli/common/cli_json.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/ollama/serve_ollama.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char api_version[] = "0.12.0"; // of Ollama, whose API this is

static void add_details(const struct glinfer_model_info *info, cJSON *model)
{
    char size[24];
    const bool is_large = info->n_params >= 1000000000;
    const char *type = strrchr(info->description, ' ');
    cJSON *details = cJSON_AddObjectToObject(model, "details");
    cJSON_AddStringToObject(details, "parent_model", "");
    cJSON_AddStringToObject(details, "format", "gguf");
    cJSON_AddStringToObject(details, "family", info->architecture);
    cJSON *families = cJSON_AddArrayToObject(details, "families");
    cJSON_AddItemToArray(families, cJSON_CreateString(info->architecture));
    snprintf(size, sizeof(size), "%.1f%c", (double)info->n_params / (is_large ? 1e9 : 1e6),
             is_large ? 'B' : 'M');
    cJSON_AddStringToObject(details, "parameter_size", size);
    cJSON_AddStringToObject(details, "quantization_level", type ? type + 1 : "unknown");
}

static void add_time(cJSON *json, const char *name, int64_t seconds)
{
    char text[40];
    const time_t at = (time_t)seconds;
    struct tm when;
    gmtime_r(&at, &when);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &when);
    cJSON_AddStringToObject(json, name, text);
}

static void add_capabilities(const struct glinfer_model_info *info, const char *template,
                             cJSON *json)
{
    const struct {
        const char *name;
        bool is_there;
    } all[] = {
        {"completion", !info->is_encoder},
        {"tools", !info->is_encoder}, // a system message tells of them if the template does not
        {"thinking", strstr(template, "enable_thinking") || strstr(template, "<think>")},
        {"embedding", info->pooling != GLINFER_POOLING_DEFAULT},
    };
    cJSON *list = cJSON_AddArrayToObject(json, "capabilities");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].is_there) {
            cJSON_AddItemToArray(list, cJSON_CreateString(all[i].name));
        }
    }
}

cJSON *serve_ollama_add_model(const struct serve_api *api, cJSON *list)
{
    const struct glinfer_model_info *info = api->info;
    const char *source = api->template_text;
    cJSON *model = api->model_name ? cli_json_append(list) : NULL;
    if (model) {
        cJSON_AddStringToObject(model, "name", api->model_name);
        cJSON_AddStringToObject(model, "model", api->model_name);
        cli_json_add_u64(model, "size", info->file_size);
        cJSON_AddStringToObject(model, "digest", "");
        add_details(info, model);
        add_capabilities(info, source ? source : "", model);
    }
    return model;
}

void serve_ollama_add_file(const struct serve_api *api, cJSON *list)
{
    cJSON *model = serve_ollama_add_model(api, list);
    if (model) {
        add_time(model, "modified_at", api->started);
    }
}

void serve_handle_ollama_tags(const struct serve_api *api, struct serve_reply *reply)
{
    cJSON *json = cJSON_CreateObject();
    serve_ollama_add_file(api, cJSON_AddArrayToObject(json, "models"));
    serve_reply_json(reply, 200, json);
}

void serve_ollama_add_loaded(const struct serve_api *api, cJSON *list)
{
    enum { FOREVER = 100 * 365 * 24 };
    const struct glinfer_model_info *info = api->info;
    cJSON *model = api->scheduler ? serve_ollama_add_model(api, list) : NULL;
    if (model) {
        add_time(model, "expires_at", api->started + FOREVER * (int64_t)3600);
        cli_json_add_u64(model, "size_vram", info->weights + info->kv_cache + info->scratch);
        cJSON_AddNumberToObject(model, "context_length", info->n_ctx);
    }
}

void serve_handle_ollama_ps(const struct serve_api *api, struct serve_reply *reply)
{
    cJSON *json = cJSON_CreateObject();
    serve_ollama_add_loaded(api, cJSON_AddArrayToObject(json, "models"));
    serve_reply_json(reply, 200, json);
}

static void add_number(cJSON *json, const char *family, const char *name, double value)
{
    char key[128];
    snprintf(key, sizeof(key), "%s.%s", family, name);
    cJSON_AddNumberToObject(json, key, value);
}

void serve_handle_ollama_show(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    const struct glinfer_model_info *info = api->info;
    const char *source = api->template_text;
    if (serve_ollama_check_model(api, body, reply)) {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "modelfile", "");
        cJSON_AddStringToObject(json, "parameters", "");
        cJSON_AddStringToObject(json, "template", source ? source : "");
        add_details(info, json);
        cJSON *numbers = cJSON_AddObjectToObject(json, "model_info");
        cJSON_AddStringToObject(numbers, "general.architecture", info->architecture);
        cJSON_AddNumberToObject(numbers, "general.file_type", info->file_type);
        add_number(numbers, "general", "parameter_count", (double)info->n_params);
        add_number(numbers, info->architecture, "context_length", info->n_ctx_train);
        add_number(numbers, info->architecture, "embedding_length", info->n_embd);
        add_number(numbers, info->architecture, "block_count", info->n_layer);
        add_capabilities(info, source ? source : "", json);
        add_time(json, "modified_at", api->started);
        serve_reply_json(reply, 200, json);
    }
    cJSON_Delete(body);
}

void serve_handle_ollama_pull(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    if (serve_ollama_check_model(api, body, reply)) {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "status", "success");
        serve_reply_json(reply, 200, json);
    }
    cJSON_Delete(body);
}

void serve_handle_ollama_version(const struct serve_api *api, struct serve_reply *reply)
{
    (void)api;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "version", api_version);
    serve_reply_json(reply, 200, json);
}
