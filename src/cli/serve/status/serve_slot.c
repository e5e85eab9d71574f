// Requests to save, restore or erase a slot: /slots/ID?action=.
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/api/serve_request.h"

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
    serve_fields_expect(fields, "action", "save, restore or erase, as in /slots/0?action=save");
    return SERVE_ACTION_NONE;
}

// Returns the path of the named file in the folder of slots; NULL if the name is invalid. The
// caller frees it.
static char *read_path(struct serve_fields *fields, const char *folder)
{
    const char *name = "";
    serve_fields_text(fields, "filename", &name);
    bool is_name = name[0] && name[0] != '.' && strlen(name) < 200 && !strchr(name, '/');
    for (const char *c = name; *c; c++) {
        is_name = is_name && (unsigned char)*c >= ' ' && *c != 0x7F;
    }
    if (!is_name) {
        serve_fields_expect(fields, "filename",
                            "the name of a file in the folder of --slot-save-path, without '/' and "
                            "not beginning with '.'");
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
    struct serve_request request;
    serve_request_open(&request, api, body, &serve_format_slot);
    struct serve_fields *fields = &request.fields;
    struct serve_action *action = &request.task->action;
    if (!api->settings->slot_folder) {
        serve_fields_refuse(fields, 501,
                            "slots are not saved in this server; enable it with "
                            "--slot-save-path FOLDER");
    }
    request.task->slot = read_id(fields, api, call->path + strlen("/slots/"));
    action->kind = read_kind(fields, call->action);
    if (!fields->is_wrong && action->kind != SERVE_ACTION_ERASE) {
        action->path = read_path(fields, api->settings->slot_folder);
    }
    serve_task_add(request.task);
    serve_request_close(&request, reply);
}
