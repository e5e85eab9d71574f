#include "cli/serve/api/serve_request.h"

#include "cli/common/cli_json_read.h"

#include <math.h>
#include <string.h>

void serve_request_open(struct serve_request *request, const struct serve_api *api, cJSON *body,
                        const struct serve_format *format)
{
    *request = (struct serve_request){.api = api, .fields = {.object = body}, .n_choices = 1};
    request->tokenizer = serve_scheduler_tokenizer(api->scheduler);
    request->task = serve_task_create(body);
    request->answer = serve_answer_create(api->scheduler, format, request->task);
    request->answer->model = api->model_name;
    request->answer->ping_s = format->framing == SERVE_FRAMES_LINES ? -1 : api->settings->ping_s;
    request->task->n_adapters = serve_lora_copy(api->lora, request->task->adapter_scales);
    serve_lora_read(api->lora, &request->fields, serve_fields_get(&request->fields, "lora"),
                    request->task->adapter_scales);
}

void serve_request_each(struct serve_request *request, const char *name, const cJSON *input,
                        bool is_list,
                        void (*add)(struct serve_request *request, const cJSON *input))
{
    const cJSON *item;
    if (!is_list) {
        add(request, input);
        return;
    }
    cJSON_ArrayForEach(item, input)
    {
        if (!request->fields.is_wrong) {
            add(request, item);
        }
    }
    if (!request->fields.is_wrong && request->task->n_jobs == 0) {
        serve_fields_refuse(&request->fields, 400, "invalid \"%s\": it is an empty list", name);
    }
}

// Tells when it is worth asking again: after about half of the waiting answers have had their turn.
static void reply_busy(const struct serve_api *api, bool is_speech, struct serve_reply *reply)
{
    struct serve_snapshot seen;
    serve_scheduler_look(api->scheduler, &seen);
    const uint32_t n_slot = is_speech ? 1 : seen.n_slots;
    const double turns = (double)seen.n_waiting / n_slot / 2;
    const double seconds = ceil(turns * seen.counts.answer_ms / 1e3);
    if (is_speech) {
        serve_reply_error(reply, 503,
                          "a sound is being transcribed and %u requests wait: try again later",
                          seen.n_waiting);
    } else {
        serve_reply_error(reply, 503, "all %u slots are busy and %u answers wait: try again later",
                          n_slot, seen.n_waiting);
    }
    reply->retry_s = seconds < 1 ? 1 : seconds > 60 ? 60 : (unsigned)seconds;
}

void serve_request_close(struct serve_request *request, struct serve_reply *reply)
{
    struct serve_answer *answer = request->answer;
    struct serve_fields *fields = &request->fields;
    const bool is_speech = request->task->speech;
    const char *text = request->api->model_name, *speech = request->api->speech_name;
    const char *own = is_speech ? speech : text, *other = is_speech ? text : speech;
    const char *asked = cli_json_get_text(fields->object, "model");
    // Other names, such as gpt-4, are accepted.
    if (asked && other && strcmp(asked, other) == 0 && strcmp(asked, own) != 0) {
        serve_fields_expect(fields, "model", own);
    }
    serve_answer_prepare(answer);
    const enum serve_queued queued =
        fields->is_wrong ? SERVE_QUEUE_CLOSED
                         : serve_scheduler_submit(request->api->scheduler, request->task);
    if (queued == SERVE_QUEUED) {
        reply->status = 200;
        const bool is_lines = answer->format->framing == SERVE_FRAMES_LINES;
        reply->type = answer->is_stream && is_lines ? "application/x-ndjson"
                      : answer->is_stream           ? "text/event-stream"
                      : answer->type                ? answer->type
                                                    : "application/json; charset=utf-8";
        reply->answer = answer;
        return;
    }
    serve_answer_destroy(answer);
    if (fields->is_wrong) {
        serve_reply_refuse(reply, fields);
    } else if (queued == SERVE_QUEUE_FULL) {
        reply_busy(request->api, is_speech, reply);
    } else {
        serve_reply_error(reply, 503, "the server is shutting down");
    }
}
