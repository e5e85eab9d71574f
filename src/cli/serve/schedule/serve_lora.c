#include "cli/serve/schedule/serve_lora.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/api/serve_handlers.h"

#include <math.h>
#include <string.h>

void serve_lora_init(struct serve_lora *lora, const struct cli_lora_flags *flags)
{
    *lora = (struct serve_lora){.flags = flags};
    pthread_mutex_init(&lora->mutex, NULL);
    lora->n = flags->is_merged ? 0 : flags->n;
    for (uint32_t i = 0; i < lora->n; i++) {
        lora->scales[i] = flags->is_off ? 0 : flags->scales[i];
    }
}

void serve_lora_finish(struct serve_lora *lora)
{
    pthread_mutex_destroy(&lora->mutex);
}

uint32_t serve_lora_copy(struct serve_lora *lora, float scales[CLI_MAX_LORA])
{
    pthread_mutex_lock(&lora->mutex);
    memcpy(scales, lora->scales, sizeof(lora->scales));
    pthread_mutex_unlock(&lora->mutex);
    return lora->n;
}

void serve_lora_read(const struct serve_lora *lora, struct serve_fields *fields, const cJSON *list,
                     float scales[CLI_MAX_LORA])
{
    const cJSON *item;
    if (!list || fields->is_wrong) {
        return;
    }
    memset(scales, 0, CLI_MAX_LORA * sizeof(*scales));
    bool is_list = cJSON_IsArray(list);
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *scale = cli_json_get(item, "scale");
        int64_t id;
        is_list =
            is_list && cli_json_is_number(scale) && cli_json_int(cli_json_get(item, "id"), &id);
        if (is_list && lora->n == 0) {
            serve_fields_refuse(fields, 400, "unknown adapter %lld: %s", (long long)id,
                                lora->flags->is_merged
                                    ? "--lora-merge added the adapter to the weights"
                                    : "the server has none, which --lora gives it");
            return;
        }
        if (is_list && (id < 0 || id >= lora->n)) {
            serve_fields_refuse(fields, 400, "unknown adapter %lld, expected an id below %u",
                                (long long)id, lora->n);
            return;
        }
        if (is_list && !(fabs(scale->valuedouble) <= CLI_MAX_LORA_SCALE)) {
            serve_fields_refuse(fields, 400, "invalid scale %g of adapter %lld: expected -%d to %d",
                                scale->valuedouble, (long long)id, CLI_MAX_LORA_SCALE,
                                CLI_MAX_LORA_SCALE);
            return;
        }
        if (is_list) {
            scales[id] = (float)scale->valuedouble;
        }
    }
    if (!is_list) {
        serve_fields_expect(fields, "lora", "a list of {\"id\": number, \"scale\": number}");
    }
}

void serve_handle_adapters(const struct serve_api *api, struct serve_reply *reply)
{
    float scales[CLI_MAX_LORA];
    const uint32_t n = serve_lora_copy(api->lora, scales);
    cJSON *list = cJSON_CreateArray();
    for (uint32_t i = 0; i < n; i++) {
        cJSON *json = cli_json_append(list);
        cJSON_AddNumberToObject(json, "id", i);
        cJSON_AddStringToObject(json, "path", api->lora->flags->paths[i]);
        cJSON_AddNumberToObject(json, "scale", (double)scales[i]);
    }
    serve_reply_json(reply, 200, list);
}

void serve_handle_set_adapters(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    struct serve_fields fields = {.object = body};
    float scales[CLI_MAX_LORA];
    serve_lora_read(api->lora, &fields, body, scales);
    cJSON_Delete(body);
    if (fields.is_wrong) {
        serve_reply_refuse(reply, &fields);
        return;
    }
    pthread_mutex_lock(&api->lora->mutex);
    memcpy(api->lora->scales, scales, sizeof(scales));
    pthread_mutex_unlock(&api->lora->mutex);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddBoolToObject(json, "success", true);
    serve_reply_json(reply, 200, json);
}
