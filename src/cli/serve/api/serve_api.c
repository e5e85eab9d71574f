#include "cli/serve/api/serve_api.h"

#include "cli/common/cli_json_read.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/page/serve_page.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct route {
    const char *path;
    void (*get)(const struct serve_api *api, struct serve_reply *reply);
    void (*post)(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
    bool is_open;    // without a key
    bool is_early;   // while the model is loaded for the first time
    size_t optional; // offset of the bool in struct serve_settings that turns it on; 0: it is there
    // Takes a form, with its file, instead of JSON.
    void (*form)(const struct serve_api *api, const struct serve_call *call,
                 struct serve_reply *reply);
    bool is_plain; // needs no loaded model
};

#define OPTION(name) offsetof(struct serve_settings, name)
#define N_ROUTE      (sizeof(routes) / sizeof(routes[0]))
static const struct route routes[] = {
    {"/health", serve_handle_health, NULL, true, true, 0, NULL, true},
    {"/v1/health", serve_handle_health, NULL, true, true, 0, NULL, true},
    {"/v1/models", serve_handle_models, NULL, false, false, 0, NULL, true},
    {"/models", serve_handle_models, NULL, false, false, 0, NULL, true},
    {"/props", serve_handle_props, NULL, false, false, 0, NULL, false},
    {"/slots", serve_handle_slots, NULL, false, false, OPTION(has_slots), NULL, false},
    {"/metrics", serve_handle_metrics, NULL, false, false, OPTION(has_metrics), NULL, false},
    {"/lora-adapters", serve_handle_adapters, serve_handle_set_adapters, false, false, 0, NULL,
     true},
    {"/tokenize", NULL, serve_handle_tokenize, false, false, 0, NULL, false},
    {"/detokenize", NULL, serve_handle_detokenize, false, false, 0, NULL, false},
    {"/apply-template", NULL, serve_handle_template, false, false, 0, NULL, false},
    {"/completion", NULL, serve_handle_completion, false, false, 0, NULL, false},
    {"/completions", NULL, serve_handle_completion, false, false, 0, NULL, false},
    {"/v1/completions", NULL, serve_handle_completions, false, false, 0, NULL, false},
    {"/chat/completions", NULL, serve_handle_chat, false, false, 0, NULL, false},
    {"/v1/chat/completions", NULL, serve_handle_chat, false, false, 0, NULL, false},
    {"/responses", NULL, serve_handle_responses, false, false, 0, NULL, false},
    {"/v1/responses", NULL, serve_handle_responses, false, false, 0, NULL, false},
    {"/responses/input_tokens", NULL, serve_handle_responses_count, false, false, 0, NULL, false},
    {"/v1/responses/input_tokens", NULL, serve_handle_responses_count, false, false, 0, NULL,
     false},
    {"/chat/completions/input_tokens", NULL, serve_handle_count, false, false, 0, NULL, false},
    {"/v1/chat/completions/input_tokens", NULL, serve_handle_count, false, false, 0, NULL, false},
    {"/embedding", NULL, serve_handle_embedding, false, false, 0, NULL, false},
    {"/embeddings", NULL, serve_handle_embedding, false, false, 0, NULL, false},
    {"/rerank", NULL, serve_handle_rerank, false, false, 0, NULL, false},
    {"/v1/rerank", NULL, serve_handle_rerank, false, false, 0, NULL, false},
    {"/reranking", NULL, serve_handle_rerank, false, false, 0, NULL, false},
    {"/v1/reranking", NULL, serve_handle_rerank, false, false, 0, NULL, false},
    {"/v1/embeddings", NULL, serve_handle_embeddings, false, false, 0, NULL, false},
    {"/api/chat", NULL, serve_handle_ollama_chat, false, false, 0, NULL, false},
    {"/api/generate", NULL, serve_handle_ollama_generate, false, false, 0, NULL, false},
    {"/api/embed", NULL, serve_handle_ollama_embed, false, false, 0, NULL, false},
    {"/api/embeddings", NULL, serve_handle_ollama_embedding, false, false, 0, NULL, false},
    {"/api/show", NULL, serve_handle_ollama_show, false, false, 0, NULL, true},
    {"/api/pull", NULL, serve_handle_ollama_pull, false, false, 0, NULL, true},
    {"/api/tags", serve_handle_ollama_tags, NULL, false, false, 0, NULL, true},
    {"/api/ps", serve_handle_ollama_ps, NULL, false, false, 0, NULL, true},
    {"/api/version", serve_handle_ollama_version, NULL, false, false, 0, NULL, true},
    {"/v1/audio/transcriptions", .form = serve_handle_transcription},
    {"/v1/audio/translations", .form = serve_handle_transcription},
    {"/inference", .form = serve_handle_transcription},
    {"/load", .form = serve_handle_load},
};

static const char slot_path[] = "/slots/";
static const struct route slot_route = {.path = "/slots/ID"};

static const char model_path[] = "/v1/models/";
static const struct route model_route = {.path = "/v1/models/ID", .is_plain = true};

static const struct route *find_route(const char *path)
{
    if (strncmp(path, slot_path, strlen(slot_path)) == 0) {
        return &slot_route;
    }
    if (strncmp(path, model_path, strlen(model_path)) == 0) {
        return &model_route;
    }
    for (size_t i = 0; i < N_ROUTE; i++) {
        if (strcmp(routes[i].path, path) == 0) {
            return &routes[i];
        }
    }
    return NULL;
}

static bool is_page(const char *path)
{
    return strcmp(path, "/") == 0 || strcmp(path, "/index.html") == 0;
}

bool serve_api_is_open(const struct serve_call *call)
{
    const struct route *route = find_route(call->path);
    return route ? route->is_open : is_page(call->path);
}

static void handle_json(const struct serve_api *api, const struct route *route,
                        const struct serve_call *call, struct serve_reply *reply)
{
    const char *end = NULL;
    const char *fault = serve_find_fault(call->body, call->body_size);
    if (fault) {
        serve_reply_error(reply, 400, "invalid request body: %s", fault);
        return;
    }
    cJSON *body = cli_json_parse_all(call->body, call->body_size, &end);
    if (!body) {
        serve_reply_error(reply, 400, "invalid request body: invalid JSON at byte %zu",
                          (size_t)(end - call->body));
    } else if (!cJSON_IsObject(body) && route->post != serve_handle_set_adapters) {
        cJSON_Delete(body);
        serve_reply_error(reply, 400, "invalid request body: not a JSON object");
    } else if (route == &slot_route) {
        serve_handle_slot(api, call, body, reply);
    } else {
        assert(route->post); // a method that the route has
        route->post(api, body, reply);
    }
}

static bool has_method(const struct route *route, const struct serve_call *call)
{
    return call->method == SERVE_GET    ? route->get || route == &model_route
           : call->method == SERVE_POST ? route->post || route->form || route == &slot_route
                                        : false;
}

static void handle_route(const struct serve_api *api, const struct route *route,
                         const struct serve_call *call, struct serve_reply *reply)
{
    const enum serve_state state =
        api->scheduler ? serve_scheduler_state(api->scheduler) : SERVE_READY;
    const char *model = route == &model_route ? call->path + strlen(model_path) : NULL;
    const bool has_text = api->model_name || !(route->post || route == &slot_route);
    const bool is_on =
        route->optional == 0 || *(const bool *)((const char *)api->settings + route->optional);
    if (!has_method(route, call)) {
        serve_reply_error(reply, 405, "invalid method: %s takes %s", route->path,
                          route->get && route->post ? "GET and POST"
                          : route->get || model     ? "GET"
                                                    : "POST");
    } else if (!has_text) {
        serve_reply_error(reply, 501,
                          "this server has no language model; start it with -m MODEL for %s",
                          route->path);
    } else if (!is_on) {
        const char *name = route->path + 1; // of the flag too
        serve_reply_error(reply, 501, "%s is disabled in this server; enable it with --%.*s",
                          route->path, (int)strcspn(name, "/"), name);
    } else if (!route->is_early && state != SERVE_READY && state != SERVE_DRAINING) {
        serve_reply_error(reply, 503,
                          state == SERVE_LOADING ? "Loading model" : "the server is shutting down");
    } else if (model) {
        serve_handle_model(api, model, reply);
    } else if (call->method == SERVE_GET) {
        route->get(api, reply);
    } else if (route->form) {
        route->form(api, call, reply);
    } else if (route == &slot_route && call->body_size == 0) {
        serve_handle_slot(api, call, NULL, reply);
    } else {
        handle_json(api, route, call, reply);
    }
}

void serve_api_handle(const struct serve_api *api, const struct serve_call *call,
                      struct serve_reply *reply)
{
    const struct route *route = find_route(call->path);
    if (route) {
        handle_route(api, route, call, reply);
    } else if (is_page(call->path) && call->method == SERVE_GET && !api->settings->is_pageless) {
        serve_reply_text(reply, serve_page.type, serve_page.data, serve_page.size);
        reply->policy = serve_page.policy;
    } else {
        serve_reply_error(
            reply, 404,
            "unknown path %s; glinfer-serve(1) lists them, such as /v1/chat/completions",
            call->path);
    }
    if (reply->status >= 400 && strncmp(call->path, "/api/", strlen("/api/")) == 0) {
        serve_reply_flatten(reply);
    }
}

//-- models that come and go -----------------------------------------------------------------------

enum serve_need serve_api_need(const struct serve_call *call)
{
    const struct route *route = find_route(call->path);
    return !route || !has_method(route, call) ? SERVE_NEEDS_NOTHING
           : route->is_plain                  ? SERVE_NEEDS_FILE
           : call->method == SERVE_GET        ? SERVE_NEEDS_STATE
           : route->form                      ? SERVE_NEEDS_SPEECH
                                              : SERVE_NEEDS_TEXT;
}

struct serve_reply *serve_api_keep(const struct serve_api *api)
{
    struct serve_reply *kept = cli_alloc(N_ROUTE, sizeof(*kept));
    for (size_t i = 0; i < N_ROUTE; i++) {
        const struct serve_call call = {.method = SERVE_GET, .path = routes[i].path};
        if (routes[i].get && !routes[i].is_plain) {
            handle_route(api, &routes[i], &call, &kept[i]);
        }
    }
    return kept;
}

bool serve_api_recall(const struct serve_reply *kept, const struct serve_call *call,
                      struct serve_reply *reply)
{
    const struct route *route = find_route(call->path);
    const size_t i =
        kept && route >= routes && route < routes + N_ROUTE ? (size_t)(route - routes) : N_ROUTE;
    if (i == N_ROUTE || !kept[i].body.data) {
        return false;
    }
    *reply = kept[i];
    reply->body = (struct cli_bytes){0};
    cli_bytes_append(&reply->body, kept[i].body.data, kept[i].body.size);
    return true;
}

void serve_api_forget(struct serve_reply *kept)
{
    for (size_t i = 0; kept && i < N_ROUTE; i++) {
        serve_reply_finish(&kept[i]);
    }
    free(kept);
}
