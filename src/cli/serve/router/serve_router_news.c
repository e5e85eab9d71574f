// The events of /models/sse: a stream for each client that listens, as an answer without jobs.
#include "cli/common/cli_json.h"
#include "cli/serve/answer/serve_answer.h"
#include "cli/serve/router/serve_router_state.h"

#include <stdlib.h>

static const struct serve_format format = {.id_prefix = "", .end = ""};

void serve_router_listen(struct serve_router *router, struct serve_reply *reply)
{
    pthread_mutex_lock(&router->lock);
    const bool is_draining = router->is_draining;
    pthread_mutex_unlock(&router->lock);
    if (is_draining) {
        serve_reply_error(reply, 503, "the server is shutting down");
        return;
    }
    struct serve_task *task = serve_task_create(NULL);
    reply->answer = serve_answer_create(NULL, &format, task);
    reply->answer->is_stream = reply->answer->has_begun = true;
    reply->answer->ping_s = router->settings->ping_s;
    reply->status = 200;
    reply->type = "text/event-stream";
    pthread_mutex_lock(&router->news);
    *CLI_APPEND(&router->listeners) = serve_task_ref(task);
    pthread_mutex_unlock(&router->news);
}

// Sends a text to all clients; "": the end. Forgets those that are gone.
static void send_news(struct serve_router *router, const char *text, size_t size)
{
    const struct serve_event event = {.kind = SERVE_EVENT_NEWS, .text_size = size};
    size_t n = 0;
    pthread_mutex_lock(&router->news);
    for (size_t i = 0; i < router->listeners.count; i++) {
        struct serve_task *task = router->listeners.items[i];
        if (atomic_load(&task->n_refs) == 1) {
            serve_task_unref(task);
        } else {
            serve_mailbox_send(&task->mailbox, &event, text, NULL);
            router->listeners.items[n++] = task;
        }
    }
    router->listeners.count = n;
    pthread_mutex_unlock(&router->news);
}

void serve_router_tell(struct serve_router *router, const char *name, const char *event,
                       cJSON *data)
{
    struct cli_bytes text = {0};
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "model", name);
    cJSON_AddStringToObject(json, "event", event);
    if (data) {
        cJSON_AddItemToObject(json, "data", data);
    }
    cli_append_json(&text, json);
    cJSON_Delete(json);
    send_news(router, text.data, text.size);
    cli_bytes_finish(&text);
}

void serve_router_tell_state(struct serve_router *router, const struct serve_model *model)
{
    cJSON *data = cJSON_CreateObject();
    cJSON_AddStringToObject(data, "status", serve_model_state_name(model));
    if (model->has_failed && model->state == SERVE_MODEL_UNLOADED) {
        cJSON_AddNumberToObject(data, "exit_code", 1);
    }
    serve_router_tell(router, serve_model_name(model), "model_status", data);
}

void serve_router_close_news(struct serve_router *router)
{
    send_news(router, "", 0);
}

void serve_router_finish_news(struct serve_router *router)
{
    for (size_t i = 0; i < router->listeners.count; i++) {
        serve_task_unref(router->listeners.items[i]);
    }
    free(router->listeners.items);
}
