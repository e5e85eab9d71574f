// State and settings of the server: health, models, props, slots, metrics.
#include "cli/common/cli_json.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/api/serve_sampling.h"

#include <string.h>

void serve_handle_health(const struct serve_api *api, struct serve_reply *reply)
{
    const enum serve_state state = serve_scheduler_state(api->scheduler);
    if (state == SERVE_READY) {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "status", "ok");
        serve_reply_json(reply, 200, json);
    } else {
        serve_reply_error(reply, 503, "%s",
                          state == SERVE_LOADING ? "Loading model" : "the server is shutting down");
    }
}

// Adds the members of every model.
static void fill_head(const struct serve_api *api, const char *name, cJSON *model)
{
    cJSON_AddStringToObject(model, "id", name);
    cJSON_AddStringToObject(model, "object", "model");
    cJSON_AddNumberToObject(model, "created", (double)api->started);
    cJSON_AddStringToObject(model, "owned_by", "glinfer");
}

static void fill_model(const struct serve_api *api, cJSON *model)
{
    const struct glinfer_model_info *info = serve_scheduler_info(api->scheduler);
    fill_head(api, api->model_name, model);
    cJSON *meta = cJSON_AddObjectToObject(model, "meta");
    CLI_JSON_ADD(meta, info, CLI_JSON(glinfer_model_info, n_vocab),
                 CLI_JSON(glinfer_model_info, n_ctx), CLI_JSON(glinfer_model_info, n_ctx_train),
                 CLI_JSON(glinfer_model_info, n_embd), CLI_JSON(glinfer_model_info, n_params),
                 CLI_JSON_AS("size", glinfer_model_info, weight_size));
}

void serve_handle_models(const struct serve_api *api, struct serve_reply *reply)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "object", "list");
    cJSON *list = cJSON_AddArrayToObject(json, "data");
    if (api->model_name) {
        fill_model(api, cli_json_append(list));
    }
    if (api->speech_name) {
        fill_head(api, api->speech_name, cli_json_append(list));
    }
    serve_reply_json(reply, 200, json);
}

void serve_handle_model(const struct serve_api *api, const char *name, struct serve_reply *reply)
{
    const bool is_text = api->model_name && strcmp(name, api->model_name) == 0;
    if (!is_text && (!api->speech_name || strcmp(name, api->speech_name) != 0)) {
        serve_reply_error(reply, 404, "unknown model %s; this server has %s", name,
                          api->model_name ? api->model_name : api->speech_name);
        return;
    }
    cJSON *json = cJSON_CreateObject();
    if (is_text) {
        fill_model(api, json);
    } else {
        fill_head(api, name, json);
    }
    serve_reply_json(reply, 200, json);
}

// Adds the members of the language model.
static void describe_text(const struct serve_api *api, cJSON *json)
{
    const struct glinfer_model_info *info = serve_scheduler_info(api->scheduler);
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    cli_sampling_fill(&api->settings->sampling, 0, &params);
    cJSON *settings = cJSON_AddObjectToObject(json, "default_generation_settings");
    cJSON_AddNumberToObject(settings, "n_ctx", info->n_ctx);
    cJSON *sampling = cJSON_AddObjectToObject(settings, "params");
    cJSON_AddNumberToObject(sampling, "n_predict", (double)api->settings->n_predict);
    serve_sampling_describe(sampling, &params);
    cJSON_AddStringToObject(json, "model_alias", api->model_name);
    cJSON_AddStringToObject(json, "model_path", api->settings->session.model);
    cJSON_AddStringToObject(json, "chat_template_name", info->chat_template);
}

void serve_handle_props(const struct serve_api *api, struct serve_reply *reply)
{
    struct serve_snapshot seen;
    serve_scheduler_look(api->scheduler, &seen);
    cJSON *json = cJSON_CreateObject();
    if (api->model_name) {
        describe_text(api, json);
    }
    if (api->speech_name) {
        cJSON_AddStringToObject(json, "speech_model", api->speech_name);
    }
    cJSON_AddNumberToObject(json, "total_slots", seen.n_slots);
    cJSON *modalities = cJSON_AddObjectToObject(json, "modalities");
    cJSON_AddBoolToObject(modalities, "vision", false);
    cJSON_AddBoolToObject(modalities, "audio", false);
    cJSON_AddStringToObject(json, "device", serve_scheduler_device(api->scheduler)->renderer);
    cJSON_AddBoolToObject(json, "is_software", serve_scheduler_device(api->scheduler)->is_software);
    cJSON_AddStringToObject(json, "build_info", glinfer_version());
    serve_reply_json(reply, 200, json);
}

void serve_handle_slots(const struct serve_api *api, struct serve_reply *reply)
{
    struct serve_snapshot seen;
    serve_scheduler_look(api->scheduler, &seen);
    cJSON *list = cJSON_CreateArray();
    for (uint32_t i = 0; i < seen.n_slots; i++) {
        const struct serve_slot_state *slot = &seen.slots[i];
        cJSON *json = cli_json_append(list);
        cJSON_AddNumberToObject(json, "id", i);
        cJSON_AddNumberToObject(json, "n_ctx", serve_scheduler_info(api->scheduler)->n_ctx);
        cJSON_AddBoolToObject(json, "is_processing", slot->is_busy);
        cJSON_AddNumberToObject(json, "n_prompt_tokens", slot->n_prompt);
        cJSON_AddNumberToObject(json, "n_prompt_tokens_cache", slot->n_cached);
        cJSON_AddNumberToObject(json, "n_prompt_tokens_processed",
                                slot->n_processed - slot->n_cached);
        cJSON_AddNumberToObject(json, "n_decoded", slot->n_decoded);
        cli_json_add_u64(json, "n_answers", slot->n_answers);
    }
    serve_reply_json(reply, 200, list);
}

//-- Prometheus ------------------------------------------------------------------------------------

void serve_handle_metrics(const struct serve_api *api, struct serve_reply *reply)
{
    struct serve_snapshot seen;
    struct cli_bytes text = {0};
    char line[512];
    serve_scheduler_look(api->scheduler, &seen);
    const struct serve_counts *n = &seen.counts;
    const struct {
        bool is_sum;
        const char *name, *help;
        double value;
    } metrics[] = {
        {true, "prompt_tokens_total", "Prompt tokens processed.", (double)n->n_prompt},
        {true, "prompt_tokens_cached_total", "Prompt tokens that a slot held already.",
         (double)n->n_cached},
        {true, "prompt_seconds_total", "Time of prompts.", n->prompt_ms / 1e3},
        {true, "tokens_predicted_total", "Tokens generated.", (double)n->n_predicted},
        {true, "tokens_predicted_seconds_total", "Time of generating them.", n->predicted_ms / 1e3},
        {true, "n_decode_total", "Tokens since the start, of unfinished answers too.",
         (double)n->n_steps},
        {true, "answers_total", "Answers that ended well.", (double)n->n_done},
        {true, "answers_failed_total", "Answers that failed.", (double)n->n_failed},
        {true, "answers_cancelled_total", "Answers whose client went away.",
         (double)n->n_cancelled},
        {true, "device_recovered_total", "Times that the GPU was brought back.",
         (double)n->n_recovered},
        {false, "prompt_tokens_seconds", "Mean speed of prompts in tokens/s.",
         cli_per_second((uint32_t)n->n_prompt, n->prompt_ms)},
        {false, "predicted_tokens_seconds", "Mean speed of an answer in tokens/s.",
         cli_per_second((uint32_t)n->n_predicted, n->predicted_ms)},
        {false, "requests_processing", "Answers that have a slot.", seen.n_running},
        {false, "requests_deferred", "Answers that wait for one.", seen.n_waiting},
        {false, "n_busy_slots_per_decode", "Mean number of busy slots at a token.",
         n->n_steps > 0 ? (double)n->n_busy / (double)n->n_steps : 0},
    };
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        const char *name = metrics[i].name;
        const int size = snprintf(line, sizeof(line),
                                  "# HELP glinfer:%s %s\n# TYPE glinfer:%s %s\nglinfer:%s %.10g\n",
                                  name, metrics[i].help, name,
                                  metrics[i].is_sum ? "counter" : "gauge", name, metrics[i].value);
        cli_bytes_append(&text, line, (size_t)size);
    }
    serve_reply_text(reply, "text/plain; version=0.0.4", text.data, text.size);
    cli_bytes_finish(&text);
}
