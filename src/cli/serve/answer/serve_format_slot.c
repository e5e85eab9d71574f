// The shapes of llama-server's /slots/ID?action=.
#include "cli/common/cli_json.h"
#include "cli/serve/answer/serve_answer.h"

#include <string.h>

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
