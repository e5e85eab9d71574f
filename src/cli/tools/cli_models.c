// `glinfer models`: lists the models on this machine and the known ones, and removes some.
#include "cli/cli_commands.h"
#include "cli/common/cli_io.h"
#include "cli/common/cli_json.h"
#include "cli/models/models_cache.h"

struct settings {
    struct cli_texts removed;
    bool is_known, is_json;
};

static struct settings defaults;

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Flags"),
    CLI_SWITCH(is_known, "--known", "the models that `glinfer pull` knows, with their licences"),
    CLI_TEXTS(removed, "--remove", "NAME", "delete this one; may be given several times"),
    CLI_SWITCH(is_json, "--json", "an array of objects"),
};

static const struct cli_rule rules[] = {
    CLI_EXCLUDES("--known", "--remove"),
    {NULL, NULL, false},
};

//-- lists -----------------------------------------------------------------------------------------

static bool print_known(bool is_json)
{
    char size[24];
    const struct models_known *known;
    cJSON *array = is_json ? cJSON_CreateArray() : NULL;
    if (!is_json) {
        printf("%-27s %9s  %-12s %s\n", "NAME", "SIZE", "LICENCE", "MODEL");
    }
    for (size_t i = 0; (known = models_known_at(i)) != NULL; i++) {
        if (!is_json) {
            printf("%-27s %9s  %-12s %s; hf:%s\n", known->name, cli_format_size(size, known->size),
                   known->licence, known->text, known->repo);
            continue;
        }
        cJSON *object = cli_json_append(array);
        CLI_JSON_ADD(object, known, CLI_JSON(models_known, name), CLI_JSON(models_known, repo),
                     CLI_JSON(models_known, file), CLI_JSON(models_known, sha256),
                     CLI_JSON(models_known, size), CLI_JSON(models_known, licence));
    }
    return is_json ? cli_json_print(array) : cli_close_output();
}

static bool print_json(const struct models_list *list)
{
    char name[1100], path[MODELS_MAX_PATH];
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < list->count; i++) {
        const struct models_entry *entry = &list->items[i];
        if (!models_cache_path(entry->place, path)) {
            cJSON_Delete(array);
            return false;
        }
        models_entry_name(entry, name, sizeof(name));
        cJSON *object = cli_json_append(array);
        cJSON_AddItemToObject(object, "name", cli_json_text(name, strlen(name)));
        cJSON_AddItemToObject(object, "path", cli_json_text(path, strlen(path)));
        cli_json_add_u64(object, "size", entry->size);
        cJSON_AddBoolToObject(object, "is_whole", entry->is_whole);
    }
    return cli_json_print(array);
}

static bool print_list(const struct models_list *list)
{
    char name[1100], size[24], folder[MODELS_MAX_PATH];
    uint64_t total = 0;
    if (!models_cache_folder(folder)) {
        return false;
    }
    if (list->count == 0) {
        printf("no models in %s; `glinfer models --known` lists some that `glinfer pull` fetches\n",
               folder);
        return cli_close_output();
    }
    printf("%9s  %s\n", "SIZE", "NAME");
    for (size_t i = 0; i < list->count; i++) {
        models_entry_name(&list->items[i], name, sizeof(name));
        printf("%9s  %s%s\n", cli_format_size(size, list->items[i].size), name,
               list->items[i].is_whole ? "" : "  (incomplete; `glinfer pull` continues)");
        total += list->items[i].size;
    }
    printf("%9s  in %s\n", cli_format_size(size, total), folder);
    return cli_close_output();
}

//-- removing --------------------------------------------------------------------------------------

static bool remove_model(const struct models_list *list, const char *name)
{
    char size[24];
    size_t count;
    const struct models_entry *entry = models_list_find(list, name, &count);
    if (!entry) {
        return cli_fail(CLI_EXIT_FAILED,
                        count > 1
                            ? "%s is the name of several models; `glinfer models` lists "
                              "unique names"
                            : "unknown model %s; `glinfer models` lists the models on this machine",
                        name);
    }
    if (!models_cache_remove(entry)) {
        return false;
    }
    printf("removed %s, %s\n", name, cli_format_size(size, entry->size));
    return true;
}

static bool run_command(void *user)
{
    const struct settings *settings = user;
    struct models_list list;
    if (settings->is_known) {
        return print_known(settings->is_json);
    }
    if (!models_cache_list(&list)) {
        return false;
    }
    bool is_done = true;
    for (size_t i = 0; i < settings->removed.count && is_done; i++) {
        is_done = remove_model(&list, settings->removed.items[i]);
    }
    if (settings->removed.count > 0) {
        is_done = cli_close_output() && is_done;
    } else {
        is_done = settings->is_json ? print_json(&list) : print_list(&list);
    }
    models_list_finish(&list);
    return is_done;
}

const struct cli_command cli_models_command = {
    .name = "models",
    .usage = "[--known | --remove NAME] [flags]",
    .summary = "Lists the models that were pulled, with their sizes, or removes some.",
    .word = "a model is deleted with --remove NAME",
    .rules = rules,
    CLI_COMMAND(flags, defaults, run_command),
};
