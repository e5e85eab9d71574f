#include "cli/serve/router/serve_catalog.h"

#include "cli/common/cli_io.h"
#include "cli/serve/router/serve_router_state.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { STOP_S = 10 }; // that answers have when their model is unloaded, by default

// Models while they are found.
struct catalog {
    const struct serve_settings *settings;
    struct serve_presets presets;
    struct serve_models models;
    struct glinfer_error *err;
};

//-- files -----------------------------------------------------------------------------------------

static struct serve_model *find(struct catalog *catalog, const char *name)
{
    struct serve_model *model;
    TAILQ_FOREACH(model, &catalog->models, place)
    {
        if (strcmp(model->name, name) == 0) {
            return model;
        }
    }
    return NULL;
}

static struct serve_model *add(struct catalog *catalog, const char *name, const char *path)
{
    struct serve_model *model = cli_alloc(1, sizeof(*model));
    model->name = cli_copy(name);
    model->path = path ? cli_copy(path) : NULL;
    model->cut_after = STOP_S;
    TAILQ_INSERT_TAIL(&catalog->models, model, place);
    return model;
}

static void add_pulled(struct catalog *catalog)
{
    struct models_list list;
    char name[1100], path[MODELS_MAX_PATH];
    if (!models_cache_list(&list)) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        models_entry_name(&list.items[i], name, sizeof(name));
        if (list.items[i].is_whole && models_cache_path(list.items[i].place, path)) {
            add(catalog, name, path);
        }
    }
    models_list_finish(&list);
}

__attribute__((format(printf, 2, 3))) static bool refuse(struct catalog *catalog,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    catalog->err->status = GLINFER_STATUS_INVALID_ARGUMENT;
    vsnprintf(catalog->err->message, sizeof(catalog->err->message), format, args);
    va_end(args);
    return false;
}

// Returns the length of the name of a model's file; 0: another file, or a later
// piece of a model.
static size_t name_size(const char *file)
{
    unsigned number, count;
    const size_t size = models_stem_size(file);
    const size_t at = models_piece(file, strlen(file), &number, &count);
    const bool is_part = strncasecmp(file, "mmproj", 6) == 0 || number > 1;
    return is_part ? 0 : at > 0 ? at - 1 : size;
}

// Writes the path of the model in a folder: its first GGUF file, or the folder with SafeTensors.
static bool find_in_folder(const char *folder, char path[MODELS_MAX_PATH])
{
    struct dirent **entries;
    bool is_found = false;
    const int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *file = entries[i]->d_name;
        const bool is_config = strcmp(file, "config.json") == 0;
        if (!is_found && file[0] != '.' && (name_size(file) > 0 || is_config)) {
            is_found = snprintf(path, MODELS_MAX_PATH, is_config ? "%s" : "%s/%s", folder, file) <
                       MODELS_MAX_PATH;
        }
        free(entries[i]);
    }
    free(n >= 0 ? (void *)entries : NULL);
    return is_found;
}

static bool add_file(struct catalog *catalog, const char *file)
{
    char path[MODELS_MAX_PATH], folder[MODELS_MAX_PATH];
    struct stat state;
    size_t size = name_size(file);
    snprintf(path, sizeof(path), "%.3000s/%.255s", catalog->settings->models_dir, file);
    if (file[0] == '.' || stat(path, &state) != 0) {
        return true;
    }
    if (S_ISDIR(state.st_mode)) {
        snprintf(folder, sizeof(folder), "%s", path);
        size = find_in_folder(folder, path) ? strlen(file) : 0;
    }
    if (size == 0) {
        return true;
    }
    char *name = cli_copy(file);
    name[size] = '\0';
    struct serve_model *other = find(catalog, name);
    bool is_done = true;
    if (other && strncmp(other->path, catalog->settings->models_dir,
                         strlen(catalog->settings->models_dir)) == 0) {
        is_done = refuse(catalog, "%.300s and %.300s are two models of the name %.200s; rename one",
                         other->path, path, name);
    } else if (other) { // a pulled one gives way
        free(other->path);
        other->path = cli_copy(path);
    } else {
        add(catalog, name, path);
    }
    free(name);
    return is_done;
}

static bool add_folder(struct catalog *catalog)
{
    const char *folder = catalog->settings->models_dir;
    struct dirent **entries;
    bool is_done = true;
    const int n = folder ? scandir(folder, &entries, NULL, alphasort) : 0;
    if (n < 0) {
        return refuse(catalog, "cannot read --models-dir %.500s: %s", folder, strerror(errno));
    }
    for (int i = 0; i < n; i++) {
        is_done = is_done && add_file(catalog, entries[i]->d_name);
        free(entries[i]);
    }
    free(folder ? (void *)entries : NULL);
    return is_done;
}

//-- settings --------------------------------------------------------------------------------------

// Adds a model for each section that names a new one.
static void add_sections(struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->presets.sections.count; i++) {
        const char *name = catalog->presets.sections.items[i].name;
        if (strcmp(name, "*") != 0 && !find(catalog, name)) {
            add(catalog, name, NULL);
        }
    }
}

// Gives a model its settings. Returns false with an error.
static bool take_settings(struct catalog *catalog, struct serve_model *model)
{
    const struct serve_preset *all = serve_presets_find(&catalog->presets, "*");
    const struct serve_preset *own = serve_presets_find(&catalog->presets, model->name);
    struct serve_preset_extra extra = {.stop_after = STOP_S};
    struct serve_settings *settings = cli_alloc(1, sizeof(*settings));
    struct cli_bytes origin = {0};
    struct stat state;
    char file[MODELS_MAX_PATH + 80] = "\n";
    *settings = *catalog->settings;
    settings->session.model = settings->speech_model = settings->alias = NULL;
    if (model->path && stat(model->path, &state) == 0) {
        snprintf(file, sizeof(file), "%s %lld %lld.%09ld\n", model->path, (long long)state.st_size,
                 (long long)state.st_mtim.tv_sec, state.st_mtim.tv_nsec);
    }
    cli_bytes_add(&origin, file);
    serve_preset_write(all, &origin);
    serve_preset_write(own, &origin);
    model->settings = settings;
    model->origin = origin.data;
    if (!serve_preset_apply(&catalog->presets, all, settings, &model->texts, &extra,
                            catalog->err) ||
        !serve_preset_apply(&catalog->presets, own, settings, &model->texts, &extra,
                            catalog->err)) {
        return false;
    }
    model->is_on_start = extra.is_on_start;
    model->hides_cached = extra.hides_cached;
    model->cut_after = extra.stop_after;
    const bool is_own = settings->session.model || settings->speech_model;
    if (!is_own && !model->path) {
        return refuse(catalog,
                      "%.200s: section [%.200s] has no model: it is not the name of one, and has "
                      "neither model nor hf-repo",
                      catalog->presets.path, model->name);
    }
    if (is_own) {
        free(model->path);
        model->path = NULL;
    } else {
        settings->session.model = model->path;
    }
    return true;
}

// Finds the file of a model that a preset names, if it is here.
static void find_path(struct serve_model *model)
{
    char path[MODELS_MAX_PATH], why[256];
    struct glinfer_error err;
    struct models_source source;
    const struct models_asked asked = {.is_offline = true};
    const char *word = model->settings->session.model ? model->settings->session.model
                                                      : model->settings->speech_model;
    if (!model->path && models_source_read(&source, word, why, sizeof(why)) &&
        (source.kind == MODELS_HUB || source.kind == MODELS_URL)) { // it may be fetched later
        model->path = models_cache_find(&source, path, NULL, 0) ? cli_copy(path) : NULL;
    } else if (!model->path) {
        cli_keep_failures(&err);
        model->path = models_find(word, &asked, path) ? cli_copy(path) : NULL;
        cli_keep_failures(NULL);
    }
}

// Reads the header of a model's file. Returns false with a warning for a file that cannot be
// served, if no preset asks for it.
static bool inspect(struct catalog *catalog, struct serve_model *model)
{
    struct glinfer_error err;
    const bool is_asked = serve_presets_find(&catalog->presets, model->name);
    find_path(model);
    if (model->path && !serve_model_inspect(model, &err)) {
        model->info = (struct glinfer_model_info){0};
        if (!is_asked) {
            cli_warn("the model %s is not served: %s", model->name, err.message);
            return false;
        }
    }
    if (model->info.is_speech) {
        model->settings->speech_model = model->settings->session.model;
        model->settings->session.model = NULL;
    }
    serve_model_prepare(model);
    return true;
}

// Hides models whose file a preset serves that says so.
static void hide_pulled(struct serve_models *models)
{
    struct serve_model *model, *other;
    TAILQ_FOREACH(other, models, place)
    {
        other->is_hidden = false;
        TAILQ_FOREACH(model, models, place)
        {
            if (model->hides_cached && !model->is_gone && model != other && model->path &&
                other->path && strcmp(model->path, other->path) == 0) {
                other->is_hidden = true;
            }
        }
    }
}

// Refuses a name that two models have.
static bool check_names(struct catalog *catalog)
{
    const struct serve_model *model, *other;
    TAILQ_FOREACH(model, &catalog->models, place)
    {
        TAILQ_FOREACH(other, &catalog->models, place)
        {
            if (model != other &&
                serve_has_word(other->settings->alias, model->name, strlen(model->name))) {
                return refuse(catalog, "%.200s is the name of a model and an alias of %.200s",
                              model->name, other->name);
            }
        }
    }
    return true;
}

static void finish(struct catalog *catalog)
{
    for (struct serve_model *model; (model = TAILQ_FIRST(&catalog->models));) {
        TAILQ_REMOVE(&catalog->models, model, place);
        serve_model_finish(model);
        free(model);
    }
    serve_presets_finish(&catalog->presets);
}

// Finds all models with their settings.
static bool fill(struct catalog *catalog)
{
    struct serve_model *model, *next;
    if (!serve_presets_read(&catalog->presets, catalog->settings->models_preset, catalog->err) ||
        !add_folder(catalog)) {
        return false;
    }
    add_sections(catalog);
    for (model = TAILQ_FIRST(&catalog->models); model; model = next) {
        next = TAILQ_NEXT(model, place);
        if (!take_settings(catalog, model)) {
            return false;
        }
    }
    return check_names(catalog);
}

// Returns the router's model of the same name and origin, or that of --speech-model; with the lock
// held.
static struct serve_model *find_same(struct serve_router *router, const struct serve_model *model)
{
    struct serve_model *other;
    TAILQ_FOREACH(other, &router->models, place)
    {
        if (!other->is_gone && strcmp(serve_model_name(other), model->name) == 0 &&
            (!other->origin || strcmp(other->origin, model->origin) == 0)) {
            return other;
        }
    }
    return NULL;
}

// Keeps the models that the router has already, and reads the headers of the new ones.
static void sift(struct serve_router *router, struct catalog *catalog)
{
    struct serve_model *model, *next, *same;
    for (model = TAILQ_FIRST(&catalog->models); model; model = next) {
        next = TAILQ_NEXT(model, place);
        pthread_mutex_lock(&router->lock);
        same = find_same(router, model);
        if (same) {
            same->is_found = true;
        }
        pthread_mutex_unlock(&router->lock);
        if (same || !inspect(catalog, model)) {
            TAILQ_REMOVE(&catalog->models, model, place);
            serve_model_finish(model);
            free(model);
        }
    }
}

// Moves what was found to the router, and lets go what was not.
static void merge(struct serve_router *router, struct catalog *catalog, bool is_start)
{
    struct serve_model *model;
    pthread_mutex_lock(&router->lock);
    TAILQ_FOREACH(model, &router->models, place)
    {
        if (model->origin && !model->is_found && !model->is_gone) {
            model->is_gone = true;
            serve_router_tell(router, model->name, "model_remove", NULL);
            model->leaves =
                model->state == SERVE_MODEL_LOADED || model->state == SERVE_MODEL_LOADING
                    ? cli_now() + (double)model->cut_after
                    : 0;
        }
        model->is_found = false;
    }
    while ((model = TAILQ_FIRST(&catalog->models))) {
        TAILQ_REMOVE(&catalog->models, model, place);
        TAILQ_INSERT_TAIL(&router->models, model, place);
        if (is_start && model->is_on_start) {
            model->is_wanted = true;
            serve_router_want(router, model);
        }
    }
    hide_pulled(&router->models);
    pthread_cond_signal(&router->changed);
    pthread_mutex_unlock(&router->lock);
}

static bool find_all(struct serve_router *router, bool is_start, struct glinfer_error *err)
{
    struct catalog catalog = {.settings = router->settings, .err = err};
    TAILQ_INIT(&catalog.models);
    add_pulled(&catalog);
    const bool is_done = fill(&catalog);
    if (is_done) {
        sift(router, &catalog);
        merge(router, &catalog, is_start);
    }
    finish(&catalog);
    return is_done;
}

bool serve_catalog_find(struct serve_router *router)
{
    struct glinfer_error err;
    const struct serve_settings *settings = router->settings;
    if (!find_all(router, true, &err)) {
        return cli_fail_error(&err);
    }
    if (TAILQ_FIRST(&router->models) || settings->models_dir || settings->models_preset) {
        return true;
    }
    return cli_fail(CLI_EXIT_USAGE,
                    "serve needs a model: -m FILE.gguf, or a name such as smollm2-135m that "
                    "`glinfer models --known` lists, --speech-model for speech alone, or "
                    "--models-dir for several");
}

bool serve_catalog_reload(struct serve_router *router, struct glinfer_error *err)
{
    pthread_mutex_lock(&router->reload);
    const bool is_done = find_all(router, false, err);
    pthread_mutex_unlock(&router->reload);
    return is_done;
}
