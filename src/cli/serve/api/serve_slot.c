// Requests for what a slot holds: /slots/ID?action=.
#include "cli/serve/answer/serve_answer.h"
#include "cli/serve/api/serve_handlers.h"

#include <stdlib.h>
#include <string.h>

static enum serve_action_kind read_kind(struct serve_fields *fields, const char *name)
{
    static const char *const names[] = {"", "save", "restore", "erase"};
    for (size_t i = 1; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            return (enum serve_action_kind)i;
        }
    }
    serve_fields_refuse(fields, 400, "\"action\" is save, restore or erase: /slots/0?action=save");
    return SERVE_ACTION_NONE;
}

// Returns the path of the file that is named, in the folder of slots alone; NULL if it is none.
static char *read_path(struct serve_fields *fields, const char *folder)
{
    const char *name = "";
    serve_fields_text(fields, "filename", &name);
    bool is_name = name[0] && name[0] != '.' && strlen(name) < 200 && !strchr(name, '/');
    for (const char *c = name; *c; c++) {
        is_name = is_name && (unsigned char)*c >= ' ' && *c != 0x7F;
    }
    if (!is_name) {
        serve_fields_refuse(fields, 400,
                            "\"filename\" is the name of a file in the folder of "
                            "--slot-save-path, without a path and a dot in front");
    }
    if (fields->is_wrong) {
        return NULL;
    }
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = cli_alloc(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static int32_t read_id(struct serve_fields *fields, const struct serve_api *api, const char *text)
{
    char *end;
    struct serve_snapshot seen;
    serve_scheduler_look(api->scheduler, &seen);
    const unsigned long id = strtoul(text, &end, 10);
    if (end == text || *end || strspn(text, "0123456789") != strlen(text) || id >= seen.n_slots) {
        serve_fields_refuse(fields, 400, "unknown slot %.20s; slots are 0 to %u", text,
                            seen.n_slots - 1);
        return -1;
    }
    return (int32_t)id;
}

void serve_handle_slot(const struct serve_api *api, const struct serve_call *call, cJSON *body,
                       struct serve_reply *reply)
{
    struct serve_fields fields = {.object = body};
    struct serve_task *task = serve_task_create(body);
    struct serve_action *action = &task->action;
    if (!api->slot_folder) {
        serve_fields_refuse(&fields, 501,
                            "slots are not saved in this server; enable it with "
                            "--slot-save-path FOLDER");
    }
    task->slot = read_id(&fields, api, call->path + strlen("/slots/"));
    action->kind = read_kind(&fields, call->action);
    if (!fields.is_wrong && action->kind != SERVE_ACTION_ERASE) {
        action->path = read_path(&fields, api->slot_folder);
    }
    if (fields.is_wrong) {
        serve_reply_error(reply, fields.status, "%s", fields.message);
        serve_task_unref(task);
        return;
    }
    serve_task_add(task);
    struct serve_answer *answer = serve_answer_create(api->scheduler, &serve_format_slot, task);
    if (!serve_submit(api, answer, reply)) {
        serve_answer_destroy(answer);
    }
}
