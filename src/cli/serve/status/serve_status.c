// State and settings of the server: health, models, props, slots, metrics.
#include "cli/common/cli_json.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/api/serve_sampling.h"
#include "cli/serve/api/serve_tools.h"
#include "cli/serve/ollama/serve_ollama.h"

#include <stdlib.h>
#include <string.h>

void serve_handle_health(const struct serve_api *api, struct serve_reply *reply)
{
    const enum serve_state state =
        api->scheduler ? serve_scheduler_state(api->scheduler) : SERVE_READY;
    if (state == SERVE_READY) {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "status", "ok");
        serve_reply_json(reply, 200, json);
    } else {
        serve_reply_error(reply, 503, "%s",
                          state == SERVE_LOADING ? "Loading model" : "the server is shutting down");
    }
}

// Adds a list of the words of a text with commas between them, which may be NULL.
static void add_words(cJSON *object, const char *name, const char *words)
{
    cJSON *list = cJSON_AddArrayToObject(object, name);
    char *own = words ? cli_copy(words) : NULL, *rest = own;
    for (char *word; (word = strsep(&rest, ","));) {
        if (word[0]) {
            cJSON_AddItemToArray(list, cJSON_CreateString(word));
        }
    }
    free(own);
}

bool serve_has_word(const char *words, const char *word, size_t size)
{
    bool is_found = false;
    for (const char *at = words; at && !is_found;) {
        const size_t n = strcspn(at, ",");
        is_found = n == size && memcmp(at, word, n) == 0;
        at = at[n] ? at + n + 1 : NULL;
    }
    return is_found;
}

bool serve_api_has_model(const struct serve_api *api, const char *name, size_t size)
{
    const bool is_own = api->model_name && strlen(api->model_name) == size &&
                        memcmp(api->model_name, name, size) == 0;
    return is_own || (api->model_name && serve_has_word(api->settings->alias, name, size));
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
    const struct glinfer_model_info *info = api->info;
    fill_head(api, api->model_name, model);
    add_words(model, "aliases", api->settings->alias);
    add_words(model, "tags", api->settings->tags);
    cJSON *meta = cJSON_AddObjectToObject(model, "meta");
    CLI_JSON_ADD(meta, info, CLI_JSON(glinfer_model_info, n_vocab),
                 CLI_JSON(glinfer_model_info, n_ctx), CLI_JSON(glinfer_model_info, n_ctx_train),
                 CLI_JSON(glinfer_model_info, n_embd), CLI_JSON(glinfer_model_info, n_params),
                 CLI_JSON_AS("size", glinfer_model_info, weight_size),
                 CLI_JSON_AS("ftype", glinfer_model_info, file_type));
}

void serve_add_models(const struct serve_api *api, cJSON *list)
{
    if (api->model_name) {
        fill_model(api, cli_json_append(list));
    }
    if (api->speech_name) {
        fill_head(api, api->speech_name, cli_json_append(list));
    }
}

void serve_handle_models(const struct serve_api *api, struct serve_reply *reply)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "object", "list");
    serve_add_models(api, cJSON_AddArrayToObject(json, "data"));
    serve_ollama_add_model(api, cJSON_AddArrayToObject(json, "models")); // for its clients
    serve_reply_json(reply, 200, json);
}

void serve_handle_model(const struct serve_api *api, const char *name, struct serve_reply *reply)
{
    const bool is_text = serve_api_has_model(api, name, strlen(name));
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

// Adds the text of a token; "" for none.
static void add_token(cJSON *json, const char *name, const struct glinfer_tokenizer *tokenizer,
                      size_t n, int32_t id)
{
    size_t size = 0;
    const char *text = n > 0 ? glinfer_token_bytes(tokenizer, id, &size) : NULL;
    cJSON_AddItemToObject(json, name, cli_json_text(text, text ? size : 0));
}

// Adds the chat template and the tokens that it needs.
static void describe_template(const struct glinfer_tokenizer *tokenizer, cJSON *json)
{
    const char *source = glinfer_chat_template_text(tokenizer);
    struct serve_tools tools = {0};
    int32_t bos = 0, eos = 0;
    size_t n_bos = 0;
    cJSON_AddStringToObject(json, "chat_template", source ? source : "");
    serve_tools_probe(&tools, tokenizer);
    cJSON *caps = cJSON_AddObjectToObject(json, "chat_template_caps");
    cJSON_AddBoolToObject(caps, "supports_tools", tools.support != SERVE_TOOLS_UNKNOWN);
    cJSON_AddBoolToObject(caps, "supports_tool_calls", tools.support >= SERVE_TOOLS_WRITTEN);
    glinfer_tokenize(tokenizer, "", 0, 0, &bos, 1, &n_bos, NULL); // the token before a text
    add_token(json, "bos_token", tokenizer, n_bos, bos);
    add_token(json, "eos_token", tokenizer, glinfer_token_ends(tokenizer, &eos, 1), eos);
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
    cJSON_AddNumberToObject(sampling, "max_tokens", (double)api->settings->n_predict);
    cJSON_AddNumberToObject(sampling, "seed", (uint32_t)api->settings->sampling.seed);
    cJSON_AddNumberToObject(sampling, "n_keep", 0);
    cJSON_AddNumberToObject(sampling, "n_probs", 0);
    cJSON_AddBoolToObject(sampling, "stream", false);
    serve_sampling_describe(sampling, &params);
    cJSON_AddStringToObject(json, "model_alias", api->model_name);
    cJSON_AddStringToObject(json, "model_path", api->settings->session.model);
    cJSON_AddStringToObject(json, "model_ftype",
                            strrchr(info->description, ' ') ? strrchr(info->description, ' ') + 1
                                                            : info->description);
    cJSON_AddStringToObject(json, "chat_template_name", info->chat_template);
    describe_template(serve_scheduler_tokenizer(api->scheduler), json);
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
    cJSON_AddBoolToObject(modalities, "video", false);
    cJSON_AddBoolToObject(json, "endpoint_slots", api->settings->has_slots);
    cJSON_AddBoolToObject(json, "endpoint_props", false);
    cJSON_AddBoolToObject(json, "endpoint_metrics", api->settings->has_metrics);
    cJSON_AddBoolToObject(json, "is_sleeping", api->is_sleeping);
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
        cJSON_AddNumberToObject(json, "id_task", slot->is_busy ? (double)slot->n_answers : -1);
        const int64_t n_left = slot->n_predict - (int64_t)slot->n_decoded;
        cJSON *next = cli_json_append(cJSON_AddArrayToObject(json, "next_token"));
        cJSON_AddBoolToObject(next, "has_next_token", slot->is_busy);
        cJSON_AddNumberToObject(next, "n_remain",
                                slot->is_busy && slot->n_predict >= 0 ? (double)n_left : -1);
        cJSON_AddNumberToObject(next, "n_decoded", slot->is_busy ? slot->n_decoded : 0);
    }
    serve_reply_json(reply, 200, list);
}
