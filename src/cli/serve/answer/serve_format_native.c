// The shapes of llama-server's /completion.
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/answer/serve_answer.h"
#include "cli/serve/api/serve_sampling.h"
#include "cli/serve/api/serve_tokens.h"

#include <string.h>

static void add_ids(cJSON *json, const struct serve_answer *answer,
                    const struct serve_choice *choice, size_t first)
{
    const bool has_ids = answer->has_ids || answer->is_stream;
    const size_t n = has_ids && choice->ids.count > first ? choice->ids.count - first : 0;
    cJSON_AddItemToObject(json, "tokens",
                          cli_json_ids(n > 0 ? choice->ids.items + first : NULL, n));
}

static void add_counts(cJSON *json, const struct serve_answer *answer, uint32_t index)
{
    const struct serve_choice *choice = &answer->choices[index];
    cJSON_AddNumberToObject(json, "index", index);
    cJSON_AddNumberToObject(json, "id_slot", choice->slot);
    cJSON_AddNumberToObject(json, "tokens_predicted", (double)choice->ids.count);
    cJSON_AddNumberToObject(json, "tokens_evaluated",
                            (double)answer->task->jobs[index].prompt.count);
}

static const char *stop_type(const struct glinfer_stats *stats)
{
    return stats->stop == GLINFER_STOP_EOS    ? "eos"
           : stats->stop == GLINFER_STOP_WORD ? "word"
                                              : "limit";
}

// Adds the tokens that end answers where these are never sampled, as llama-server bans them.
static void add_ends(cJSON *biases, const struct serve_answer *answer)
{
    int32_t ids[16];
    const size_t n =
        answer->task->params.ignore_eos ? glinfer_token_ends(answer->tokenizer, ids, 16) : 0;
    for (size_t i = 0; i < n; i++) {
        cJSON *item = cli_json_append(biases);
        cJSON_AddNumberToObject(item, "token", ids[i]);
        cJSON_AddNullToObject(item, "bias");
    }
}

static void add_settings(cJSON *json, const struct serve_answer *answer, uint32_t index)
{
    const struct serve_task *task = answer->task;
    cJSON *settings = cJSON_AddObjectToObject(json, "generation_settings");
    cli_json_add_u64(settings, "seed", task->jobs[index].seed);
    cJSON_AddNumberToObject(settings, "n_predict", task->params.n_predict);
    cJSON_AddNumberToObject(settings, "n_probs", answer->n_top);
    cJSON_AddBoolToObject(settings, "stream", answer->is_stream);
    cJSON_AddNumberToObject(settings, "max_tokens", task->params.n_predict);
    cJSON_AddNumberToObject(settings, "n_keep", task->params.n_keep);
    cJSON_AddBoolToObject(settings, "timings_per_token", answer->has_timings);
    cJSON_AddBoolToObject(settings, "post_sampling_probs", answer->has_chosen_probs);
    serve_sampling_describe(settings, &task->params);
    add_ends(cli_json_get(settings, "logit_bias"), answer);
}

// Keeps the members that the request asks for; those within others are named as "outer/inner".
static cJSON *select_members(const struct serve_answer *answer, cJSON *json)
{
    const cJSON *names = cli_json_get(answer->task->body, "response_fields"), *name;
    if (cJSON_GetArraySize(names) == 0) {
        return json;
    }
    cJSON *selected = cJSON_CreateObject();
    cJSON_ArrayForEach(name, names)
    {
        const char *path = cJSON_IsString(name) ? name->valuestring : "", *slash;
        const cJSON *at = json;
        char part[64];
        while ((slash = strchr(path, '/'))) {
            snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
            at = cli_json_get(at, part);
            path = slash + 1;
        }
        at = cli_json_get(at, path);
        if (at) {
            cli_json_add_first(selected, name->valuestring, cJSON_Duplicate(at, 1));
        }
    }
    cJSON_Delete(json);
    return selected;
}

// Returns true if tokens at the beginning were dropped, or the answer ends because there is no
// room.
static bool is_truncated(const struct serve_answer *answer, uint32_t index)
{
    const struct serve_choice *choice = &answer->choices[index];
    return choice->stats.stop == GLINFER_STOP_CONTEXT ||
           choice->stats.n_past + 1 <
               answer->task->jobs[index].prompt.count + choice->stats.predicted_n;
}

cJSON *serve_native_result(const struct serve_answer *answer, uint32_t index, bool is_whole)
{
    const struct serve_choice *choice = &answer->choices[index];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemToObject(json, "content",
                          is_whole ? cli_json_text(choice->text.data, choice->text.size)
                                   : cJSON_CreateString(""));
    add_ids(json, answer, choice, is_whole ? 0 : choice->n_ids_shown);
    add_counts(json, answer, index);
    cJSON_AddBoolToObject(json, "stop", true);
    cJSON_AddStringToObject(json, "model", answer->model);
    const struct cli_ids *prompt = &answer->task->jobs[index].prompt;
    cJSON_AddItemToObject(json, "prompt",
                          serve_write_tokens(answer->tokenizer, prompt->items, prompt->count));
    add_settings(json, answer, index);
    cJSON_AddBoolToObject(json, "has_new_line",
                          choice->text.data && strchr(choice->text.data, '\n'));
    cJSON_AddBoolToObject(json, "truncated", is_truncated(answer, index));
    cJSON_AddStringToObject(json, "stop_type", stop_type(&choice->stats));
    cJSON_AddStringToObject(json, "stopping_word", serve_stopping_word(answer, index));
    cJSON_AddNumberToObject(json, "tokens_cached", choice->stats.n_past);
    serve_add_timings(json, answer, index);
    if (choice->probs) {
        cJSON_AddItemToObject(json, "completion_probabilities", cJSON_Duplicate(choice->probs, 1));
    }
    return json;
}

static cJSON *native_whole(const struct serve_answer *answer)
{
    if (answer->task->n_jobs == 1) {
        return select_members(answer, serve_native_result(answer, 0, true));
    }
    cJSON *list = cJSON_CreateArray();
    for (uint32_t i = 0; i < answer->task->n_jobs; i++) {
        cJSON_AddItemToArray(list, select_members(answer, serve_native_result(answer, i, true)));
    }
    return list;
}

static cJSON *native_token(struct serve_answer *answer, uint32_t index, const char *text,
                           size_t size, cJSON *probs)
{
    struct serve_choice *choice = &answer->choices[index];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemToObject(json, "content", cli_json_text(text, size));
    add_ids(json, answer, choice, choice->n_ids_shown);
    choice->n_ids_shown = choice->ids.count;
    cJSON_AddBoolToObject(json, "stop", false);
    add_counts(json, answer, index);
    if (probs) {
        cJSON *list = cJSON_AddArrayToObject(json, "completion_probabilities");
        cJSON_AddItemToArray(list, probs);
    }
    return json;
}

static cJSON *native_finish(const struct serve_answer *answer, uint32_t index)
{
    return select_members(answer, serve_native_result(answer, index, false));
}

const struct serve_format serve_format_native = {
    .id_prefix = "cmpl-",
    .end = "",
    .whole = native_whole,
    .token = native_token,
    .finish = native_finish,
    .probs = serve_list_probs,
};

static cJSON *slot_whole(const struct serve_answer *answer)
{
    const struct serve_action *action = &answer->task->action;
    const struct serve_action_result *result = &answer->choices->result;
    const bool is_save = action->kind == SERVE_ACTION_SAVE;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "id_slot", answer->task->slot);
    if (action->kind == SERVE_ACTION_ERASE) {
        cJSON_AddNumberToObject(json, "n_erased", (double)result->n_tokens);
        return json;
    }
    cJSON_AddStringToObject(json, "filename", strrchr(action->path, '/') + 1);
    cJSON_AddNumberToObject(json, is_save ? "n_saved" : "n_restored", (double)result->n_tokens);
    cli_json_add_u64(json, is_save ? "n_written" : "n_read", result->size);
    cJSON *timings = cJSON_AddObjectToObject(json, "timings");
    cJSON_AddNumberToObject(timings, is_save ? "save_ms" : "restore_ms", result->ms);
    return json;
}

const struct serve_format serve_format_slot = {
    .id_prefix = "slot-",
    .end = "",
    .whole = slot_whole,
};
