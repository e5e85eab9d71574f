// Calls of a router: those about all models, and the model of any other.
#include "cli/common/cli_json_read.h"
#include "cli/models/models_cache.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/ollama/serve_ollama.h"
#include "cli/serve/router/serve_catalog.h"
#include "cli/serve/router/serve_router_state.h"
#include "cli/serve/upload/serve_multipart.h"

#include <string.h>

//-- names -----------------------------------------------------------------------------------------

static const char model_path[] = "/v1/models/";

static bool is_ollama(const struct serve_call *call)
{
    return strncmp(call->path, "/api/", strlen("/api/")) == 0;
}

static bool read_form_name(const struct serve_call *call, char name[SERVE_MAX_NAME])
{
    struct serve_form form;
    char why[160];
    if (!serve_form_is(call->type) ||
        !serve_form_read(&form, call->type, call->body, call->body_size, why, sizeof(why))) {
        return false;
    }
    const struct serve_entry *entry = serve_form_find(&form, "model");
    if (entry) {
        snprintf(name, SERVE_MAX_NAME, "%.*s", (int)entry->size, entry->data);
    }
    return true;
}

bool serve_router_read(struct serve_visit *visit, const struct serve_call *call,
                       char name[SERVE_MAX_NAME])
{
    const bool has_one = visit->router->has_one;
    const size_t n = strlen(model_path);
    const char *asked = strncmp(call->path, model_path, n) == 0 ? call->path + n : call->model;
    snprintf(name, SERVE_MAX_NAME, "%s", asked ? asked : "");
    if ((has_one && !is_ollama(call)) || call->method == SERVE_GET ||
        (name[0] && !is_ollama(call))) {
        return true;
    }
    if (serve_api_need(call) == SERVE_NEEDS_SPEECH) {
        return read_form_name(call, name);
    }
    cJSON *body = cli_json_parse_all(call->body, call->body_size, NULL);
    const char *text = cli_json_get_text(body, "model");
    text = !text && is_ollama(call) ? cli_json_get_text(body, "name") : text;
    snprintf(name, SERVE_MAX_NAME, "%s", text ? text : "");
    visit->is_stream = cJSON_IsTrue(cli_json_get(body, "stream")) && !is_ollama(call);
    visit->has_keep =
        is_ollama(call) && serve_ollama_read_keep(body, &visit->keep_s, &visit->has_keep);
    visit->is_farewell = visit->has_keep && serve_ollama_is_farewell(body);
    const bool is_read = has_one || body || call->body_size == 0;
    cJSON_Delete(body);
    return is_read;
}

static bool has_name(const struct serve_model *model, const char *name, size_t size)
{
    const char *own = serve_model_name(model);
    return serve_api_has_model(&model->api, name, size) ||
           (strlen(own) == size && memcmp(own, name, size) == 0);
}

static struct serve_model *find_listed(struct serve_router *router, const char *name)
{
    static const char latest[] = ":latest"; // as Ollama's clients add it
    const size_t size = strlen(name), n = strlen(latest);
    const bool is_latest = size > n && strcmp(name + size - n, latest) == 0;
    struct serve_model *model;
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (!model->is_gone &&
            (has_name(model, name, size) || (is_latest && has_name(model, name, size - n)))) {
            return model;
        }
    }
    return NULL;
}

struct serve_model *serve_router_find_named(struct serve_router *router, const char *name)
{
    char own[1100], path[MODELS_MAX_PATH];
    struct models_source source;
    struct serve_model *model = find_listed(router, name);
    const bool is_pulled = !model &&
                           models_source_read_hub(&source, name, NULL, own, sizeof(own)) &&
                           models_cache_find(&source, path, own, sizeof(own));
    return is_pulled ? find_listed(router, own) : model;
}

void serve_reply_success(struct serve_reply *reply)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddBoolToObject(json, "success", true);
    serve_reply_json(reply, 200, json);
}

void serve_reply_unknown(struct serve_reply *reply, const char *name)
{
    serve_reply_error(reply, 404, "unknown model %.200s; /v1/models lists the models", name);
}

// Returns the only model that suits a call; NULL if there are several.
static struct serve_model *find_only(struct serve_router *router, bool is_speech)
{
    struct serve_model *model, *only = NULL;
    if (is_speech && router->own) { // that of --speech-model
        return router->own;
    }
    TAILQ_FOREACH(model, &router->models, place)
    {
        const bool suits = is_speech ? model->api.speech_name : model->api.model_name;
        if (suits && !model->is_gone && !model->is_hidden) {
            if (only) {
                return NULL;
            }
            only = model;
        }
    }
    return only;
}

struct serve_model *serve_router_find(struct serve_router *router, const struct serve_call *call,
                                      const char *name, struct serve_reply *reply)
{
    const enum serve_need need = serve_api_need(call);
    const bool is_speech = need == SERVE_NEEDS_SPEECH;
    struct serve_model *model = name[0]                    ? serve_router_find_named(router, name)
                                : is_ollama(call)          ? NULL
                                : need >= SERVE_NEEDS_TEXT ? find_only(router, is_speech)
                                                           : NULL;
    if (!model) {
        const char *what =
            is_ollama(call) ? "model is required"
            : is_speech     ? "missing \"model\": /v1/models lists the models of this server"
                            : "missing \"model\": this server has several; /v1/models lists them";
        if (name[0] && is_ollama(call)) {
            serve_reply_error(reply, 404, "model '%.200s' not found", name);
        } else if (name[0]) {
            serve_reply_unknown(reply, name);
        } else {
            serve_reply_error(reply, 400, "%s", what);
        }
    } else if (need == SERVE_NEEDS_SPEECH && !model->api.speech_name) {
        serve_reply_error(reply, 400, "%s is not a speech model", serve_model_name(model));
        return NULL;
    } else if (need == SERVE_NEEDS_TEXT && !model->api.model_name) {
        serve_reply_error(reply, 400, "%s is a speech model; /v1/audio/transcriptions takes it",
                          serve_model_name(model));
        return NULL;
    }
    return model;
}

//-- lists -----------------------------------------------------------------------------------------

const char *serve_model_state_name(const struct serve_model *model)
{
    static const char *const names[] = {"unloaded", "loading", "loaded", "loaded", "sleeping"};
    return model->is_downloading ? "downloading" : names[model->state];
}

static void add_text(cJSON *json, const char *name, const char *text)
{
    cJSON_AddItemToArray(cJSON_AddArrayToObject(json, name), cJSON_CreateString(text));
}

// Appends a model as llama-server's router has it.
static void add_model(const struct serve_model *model, cJSON *list)
{
    serve_add_models(&model->api, list);
    cJSON *json = cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1);
    cJSON *status = cJSON_AddObjectToObject(json, "status");
    cJSON_AddStringToObject(status, "value", serve_model_state_name(model));
    if (model->has_failed) {
        cJSON_AddBoolToObject(status, "failed", true);
        cJSON_AddNumberToObject(status, "exit_code", 1);
    }
    cJSON *architecture = cJSON_AddObjectToObject(json, "architecture");
    add_text(architecture, "input_modalities", model->api.model_name ? "text" : "audio");
    add_text(architecture, "output_modalities", "text");
    if (model->path) {
        cJSON_AddStringToObject(json, "path", model->path);
    }
}

// Tells of one model, by any of its names, and does not load it.
static void tell_model(struct serve_router *router, const char *name, struct serve_reply *reply)
{
    pthread_mutex_lock(&router->lock);
    const struct serve_model *model = serve_router_find_named(router, name);
    if (model) {
        cJSON *list = cJSON_CreateArray();
        add_model(model, list);
        serve_reply_json(reply, 200, cJSON_DetachItemFromArray(list, cJSON_GetArraySize(list) - 1));
        cJSON_Delete(list);
    } else {
        serve_reply_unknown(reply, name);
    }
    pthread_mutex_unlock(&router->lock);
}

static void list_models(struct serve_router *router, const struct serve_call *call,
                        struct serve_reply *reply)
{
    struct glinfer_error err;
    const struct serve_model *model;
    const bool is_reload = call->reload && call->reload[0] && strcmp(call->reload, "0") != 0 &&
                           strcmp(call->reload, "false") != 0;
    if (is_reload && !serve_catalog_reload(router, &err)) {
        serve_reply_error(reply, 400, "%s", err.message);
        return;
    }
    if (is_reload) {
        serve_router_tell(router, "*", "models_reload", NULL);
    }
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "object", "list");
    cJSON *data = cJSON_AddArrayToObject(json, "data");
    cJSON *models = cJSON_AddArrayToObject(json, "models"); // for Ollama's clients
    pthread_mutex_lock(&router->lock);
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (!model->is_gone && !model->is_hidden) {
            add_model(model, data);
            serve_ollama_add_model(&model->api, models);
        }
    }
    serve_download_list(router, data);
    pthread_mutex_unlock(&router->lock);
    serve_reply_json(reply, 200, json);
}

static void list_ollama(struct serve_router *router, bool is_loaded, struct serve_reply *reply)
{
    const struct serve_model *model;
    cJSON *json = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(json, "models");
    pthread_mutex_lock(&router->lock);
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (is_loaded) {
            serve_ollama_add_loaded(&model->api, list);
        } else if (!model->is_gone && !model->is_hidden) {
            serve_ollama_add_file(&model->api, list);
        }
    }
    pthread_mutex_unlock(&router->lock);
    serve_reply_json(reply, 200, json);
}

static void tell_props(const struct serve_router *router, struct serve_reply *reply)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "role", "router");
    cJSON_AddNumberToObject(json, "max_instances", (double)router->settings->models_max);
    cJSON_AddBoolToObject(json, "models_autoload", !router->settings->no_autoload);
    cJSON_AddBoolToObject(json, "is_sleeping", false);
    cJSON_AddStringToObject(json, "build_info", glinfer_version());
    serve_reply_json(reply, 200, json);
}

//-- load and unload -------------------------------------------------------------------------------

// Loads or unloads a model soon. Does nothing for one that is so already.
static void change(struct serve_router *router, const struct serve_call *call, bool loads,
                   struct serve_reply *reply)
{
    cJSON *body = cli_json_parse_all(call->body, call->body_size, NULL);
    const char *name = cli_json_get_text(body, "model");
    pthread_mutex_lock(&router->lock);
    struct serve_model *model = name ? serve_router_find_named(router, name) : NULL;
    if (name && !loads && serve_download_cancel(router, model ? serve_model_name(model) : name)) {
        serve_reply_success(reply);
    } else if (!name) {
        serve_reply_error(reply, 400, "missing \"model\": the name of one that /v1/models lists");
    } else if (!model) {
        serve_reply_unknown(reply, name);
    } else if (!loads && model->is_pinned) {
        serve_reply_error(reply, 400, "%s stays loaded, since --wyoming needs it",
                          serve_model_name(model));
    } else {
        const bool is_there =
            model->state == SERVE_MODEL_LOADED || model->state == SERVE_MODEL_LOADING;
        if (loads && (!is_there || model->leaves > 0)) {
            model->is_wanted = true;
            serve_router_want(router, model);
        } else if (!loads && is_there && model->leaves == 0) {
            model->leaves = cli_now() + (double)model->cut_after;
            pthread_cond_signal(&router->changed);
        } else if (!loads && model->state == SERVE_MODEL_SLEEPING) {
            model->state = SERVE_MODEL_UNLOADED;
        }
        serve_reply_success(reply);
    }
    pthread_mutex_unlock(&router->lock);
    cJSON_Delete(body);
}

bool serve_router_handle(struct serve_router *router, const struct serve_call *call,
                         struct serve_reply *reply)
{
    const char *path = call->path;
    const bool is_load = strcmp(path, "/models/load") == 0;
    if (is_load || strcmp(path, "/models/unload") == 0) {
        if (call->method == SERVE_POST) {
            change(router, call, is_load, reply);
        } else {
            serve_reply_error(reply, 405, "invalid method: %s takes POST", path);
        }
        return true;
    }
    if (strcmp(path, "/models") == 0 && call->method == SERVE_POST) {
        serve_download_post(router, call, reply);
        return true;
    }
    if (strcmp(path, "/models") == 0 && call->method == SERVE_DELETE) {
        serve_download_delete(router, call, reply);
        return true;
    }
    if (call->method != SERVE_GET) {
        return false;
    }
    if (strcmp(path, "/models/sse") == 0) {
        serve_router_listen(router, reply);
    } else if (strcmp(path, "/models") == 0 || strcmp(path, "/v1/models") == 0) {
        list_models(router, call, reply);
    } else if (strncmp(path, model_path, strlen(model_path)) == 0) {
        tell_model(router, path + strlen(model_path), reply);
    } else if (strcmp(path, "/api/tags") == 0 || strcmp(path, "/api/ps") == 0) {
        list_ollama(router, strcmp(path, "/api/ps") == 0, reply);
    } else if (strcmp(path, "/props") == 0 && !call->model) {
        tell_props(router, reply);
    } else if (strcmp(path, "/health") == 0 || strcmp(path, "/v1/health") == 0) {
        if (router->is_draining) {
            serve_reply_error(reply, 503, "the server is shutting down");
        } else {
            serve_api_handle(&router->front, call, reply);
        }
    } else if (strcmp(path, "/api/version") == 0) {
        serve_api_handle(&router->front, call, reply);
    } else {
        return false;
    }
    return true;
}
