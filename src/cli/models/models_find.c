#include "cli/common/cli_io.h"
#include "cli/models/models_pull.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

//-- files that are not models ---------------------------------------------------------------------

// Finds a file of a folder by its ending; returns false if there is none.
static bool find_in_folder(const char *path, const char *ending, char name[256])
{
    DIR *dir = opendir(path);
    bool is_found = false;
    for (struct dirent *item = dir ? readdir(dir) : NULL; item && !is_found; item = readdir(dir)) {
        is_found = models_ends_with(item->d_name, ending);
        snprintf(name, 256, "%s", item->d_name);
    }
    if (dir) {
        closedir(dir);
    }
    return is_found;
}

// Writes the path of the first folder with config.json in a folder, or in its snapshots, as the
// cache of Hugging Face has them. Returns false without one.
static bool find_inner(const char *path, char inner[MODELS_MAX_PATH])
{
    static const char *const patterns[] = {"snapshots/*/config.json", "*/config.json"};
    bool is_found = false;
    for (size_t i = 0; !is_found && i < 2; i++) {
        char pattern[MODELS_MAX_PATH];
        glob_t files;
        snprintf(pattern, sizeof(pattern), "%s/%s", path, patterns[i]);
        is_found = glob(pattern, 0, NULL, &files) == 0;
        if (is_found) {
            const char *file = files.gl_pathv[0];
            snprintf(inner, MODELS_MAX_PATH, "%.*s", (int)(strrchr(file, '/') - file), file);
            globfree(&files);
        }
    }
    return is_found;
}

static bool check_folder(const char *path)
{
    char name[256], inner[MODELS_MAX_PATH];
    if (find_in_folder(path, ".gguf", name)) {
        return cli_fail(CLI_EXIT_FAILED, "%s is a folder; a GGUF file is in it: -m %s/%s", path,
                        path, name);
    }
    if (!find_in_folder(path, "config.json", name) && find_inner(path, inner)) {
        return cli_fail(CLI_EXIT_FAILED, "%s is a folder; that of a model is in it: -m %s", path,
                        inner);
    }
    return true; // the library says what else is wrong with a folder
}

// Returns the format of a file that is not GGUF by its first bytes; NULL: unknown.
static const char *recognise(const unsigned char *head, size_t size, const char *path)
{
    const char *text = (const char *)head;
    const size_t blank = strspn(text, " \t\r\n");
    if (size >= 9 && head[8] == '{' && head[6] == 0 && head[7] == 0) {
        return "holds SafeTensors alone; give the folder that it lies in with config.json";
    }
    if (memcmp(head, "PK\3\4", 4) == 0 || (head[0] == 0x80 && head[1] <= 5)) {
        return models_ends_with(path, ".zip") ? "is a zip archive"
                                              : "is a checkpoint of PyTorch, which glinfer does "
                                                "not read";
    }
    if (strncasecmp(text + blank, "<!doctype html", 14) == 0 ||
        strncasecmp(text + blank, "<html", 5) == 0) {
        return "is a web page, not the model that it links to";
    }
    if (strncmp(text, "version https://git-lfs", 23) == 0) {
        return "is a pointer of Git LFS; the file itself comes with `git lfs pull`";
    }
    static const char *const sounds[] = {"RIFF", "fLaC", "OggS", "ID3"};
    for (size_t i = 0; i < sizeof(sounds) / sizeof(sounds[0]); i++) {
        if (strncmp(text, sounds[i], strlen(sounds[i])) == 0) {
            return "is sound, not a model; give it without -m";
        }
    }
    // "lmgg" begins files of whisper.cpp, too, which the loader reads.
    if (strncmp(text, "tjgg", 4) == 0 || strncmp(text, "fmgg", 4) == 0) {
        return "is a GGML file from before GGUF, which glinfer does not read";
    }
    return NULL;
}

// Refuses files of known other formats; the loader judges the rest.
static bool check_path(const char *path, const struct stat *state)
{
    unsigned char head[65] = {0};
    if (S_ISDIR(state->st_mode)) {
        return check_folder(path);
    }
    const int file = S_ISREG(state->st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const ssize_t size = file >= 0 ? read(file, head, sizeof(head) - 1) : 0;
    if (file >= 0) {
        close(file);
    }
    const char *what =
        size >= 4 && memcmp(head, "GGUF", 4) != 0 ? recognise(head, (size_t)size, path) : NULL;
    if (what && !strchr(what, ';')) {
        return cli_fail(CLI_EXIT_FAILED,
                        "cannot use %s: it %s; `glinfer pull hf:USER/REPO` fetches a GGUF of a "
                        "model, llama.cpp converts one",
                        path, what);
    }
    return !what || cli_fail(CLI_EXIT_FAILED, "cannot use %s: it %s", path, what);
}

//-- words that are not files ----------------------------------------------------------------------

static bool refuse_path(const char *word)
{
    char why[256];
    struct models_source source;
    const bool is_file = models_ends_with(word, ".gguf") ||
                         models_ends_with(word, ".safetensors") || models_ends_with(word, ".bin");
    if (!is_file && models_source_read_hub(&source, word, NULL, why, sizeof(why))) {
        return cli_fail(CLI_EXIT_FAILED, "%s: no such file; is it hf:%s, of Hugging Face?", word,
                        word);
    }
    if (strstr(word, "://")) {
        return cli_fail(CLI_EXIT_FAILED, "%s: unsupported URL; use http:// or https://", word);
    }
    if (word[0] == '~') {
        return cli_fail(CLI_EXIT_FAILED,
                        "%s: no such file; a shell expands ~ only at the beginning of a word",
                        word);
    }
    return cli_fail(CLI_EXIT_FAILED,
                    "%s: no such file; `glinfer models` lists the models on this machine", word);
}

static bool refuse_name(const char *word, const struct models_source *source, size_t count)
{
    char size[24], names[512];
    const char *nearest = models_known_nearest(word);
    if (count > 1) {
        return cli_fail(CLI_EXIT_FAILED,
                        "%s is the name of %zu models; `glinfer models` lists unique names", word,
                        count);
    }
    if (source->known) {
        return cli_fail(CLI_EXIT_FAILED,
                        "%s is a known model that is not on this machine yet; `glinfer pull %s` "
                        "fetches it (%s)",
                        word, word, cli_format_size(size, source->known->size));
    }
    if (models_known_beginning(word, names, sizeof(names))) {
        return cli_fail(CLI_EXIT_FAILED,
                        "%s: no such file, and no model of that name; `glinfer pull` knows %s",
                        word, names);
    }
    if (nearest) {
        return cli_fail(CLI_EXIT_FAILED, "%s: no such file, and no model of that name; is it %s?",
                        word, nearest);
    }
    return cli_fail(
        CLI_EXIT_FAILED,
        "%s: no such file, and no model of that name; `glinfer models` lists the models "
        "on this machine, `glinfer models --known` those that `glinfer pull` can fetch",
        word);
}

// Finds a model that was pulled. An unknown path may be its name, or its file's.
static bool find_pulled(const char *word, const struct models_source *source,
                        char path[MODELS_MAX_PATH])
{
    struct models_list list;
    size_t count = 0;
    if (source->kind == MODELS_PATH && !getenv("HOME") && !getenv("XDG_CACHE_HOME")) {
        return refuse_path(word);
    }
    if (!models_cache_list(&list)) {
        return false;
    }
    const struct models_entry *entry = models_list_find(&list, word, &count);
    bool is_found = entry && entry->is_whole && models_cache_path(entry->place, path);
    if (entry && !entry->is_whole) {
        cli_fail(CLI_EXIT_FAILED, "%s is incomplete; `glinfer pull` continues the download", word);
    } else if (!is_found && source->kind == MODELS_PATH && count == 0) {
        refuse_path(word);
    } else if (!is_found) {
        refuse_name(word, source, count);
    }
    models_list_finish(&list);
    return is_found;
}

static bool find_source(struct models_source *source, const char *word,
                        const struct models_asked *asked, char path[MODELS_MAX_PATH])
{
    char shown[MODELS_MAX_URL];
    const bool is_here = models_cache_find(source, path, NULL, 0);
    if (!is_here && asked->is_offline) {
        return cli_fail(CLI_EXIT_FAILED, "cannot fetch %s: --offline was given",
                        models_shown(word, shown));
    }
    return is_here || models_pull(source, word, asked, path);
}

bool models_find(const char *word, const struct models_asked *asked, char path[MODELS_MAX_PATH])
{
    char why[512];
    struct stat state;
    struct models_source source;
    if (!word[0]) {
        return cli_fail(CLI_EXIT_USAGE, "invalid model \"\": expected a path, a name or a URL");
    }
    if (!models_source_read(&source, word, why, sizeof(why))) {
        return cli_fail(CLI_EXIT_USAGE, "invalid model %s: %s", word, why);
    }
    if (source.kind == MODELS_HUB || source.kind == MODELS_URL) {
        return find_source(&source, word, asked, path);
    }
    if (strlen(word) >= MODELS_MAX_PATH) {
        return cli_fail(CLI_EXIT_FAILED, "invalid path %.100s...: it is too long", word);
    }
    if (stat(word, &state) == 0) {
        snprintf(path, MODELS_MAX_PATH, "%s", word);
        return check_path(word, &state);
    }
    if (errno != ENOENT && errno != ENOTDIR) { // the loader says why
        snprintf(path, MODELS_MAX_PATH, "%s", word);
        return true;
    }
    return find_pulled(word, &source, path);
}

//-- flags -----------------------------------------------------------------------------------------

static bool check_vad(const char *path)
{
    struct glinfer_error err;
    struct glinfer_model_params params;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    glinfer_model_params_init(&params);
    params.path = path;
    if (!glinfer_model_inspect(&params, &info, &err)) {
        return cli_fail_error(&err);
    }
    return strcmp(info.architecture, "silero-vad") == 0 ||
           cli_fail(CLI_EXIT_FAILED,
                    "cannot find speech with %s: it is not the network of Silero that `glinfer "
                    "pull silero-vad` fetches",
                    path);
}

bool models_find_vad(const char *word, const struct models_asked *asked, char path[MODELS_MAX_PATH])
{
    if (word) {
        return models_find(word, asked, path) && check_vad(path);
    }
    struct models_list list = {0};
    size_t count = 0;
    const struct models_entry *entry =
        models_cache_list(&list) ? models_list_find(&list, "silero-vad", &count) : NULL;
    if (!entry || !entry->is_whole || !models_cache_path(entry->place, path)) {
        path[0] = '\0';
        cli_note("silence and noise are transcribed, too: `glinfer pull silero-vad` fetches the "
                 "network that finds speech, and --live needs it to end an utterance");
    }
    models_list_finish(&list);
    return true;
}

const char *models_path(const char *word, const struct cli_hub_flags *hub)
{
    static struct {
        char **items; // owned until the process ends
        size_t count, capacity;
    } found;
    char path[MODELS_MAX_PATH];
    const struct models_asked asked = {.token = hub->token, .is_offline = hub->is_offline};
    if (!models_find(word, &asked, path)) {
        return NULL;
    }
    for (size_t i = 0; i < found.count; i++) { // a server loads a model again and again
        if (strcmp(found.items[i], path) == 0) {
            return found.items[i];
        }
    }
    return *CLI_APPEND(&found) = cli_copy(path);
}

// Writes what -hf with -hff, or -mu, means in the words of -m. Returns false with the reason
// printed.
static bool take_hub(const struct cli_hub_flags *hub, char *word, size_t size)
{
    char why[512];
    struct models_source source;
    if (hub->url) {
        snprintf(word, size, "%s", hub->url);
        return (strlen(hub->url) < MODELS_MAX_URL && strstr(word, "://")) ||
               cli_fail(CLI_EXIT_USAGE, "invalid -mu %.200s: expected a URL, such as https://...",
                        word);
    }
    if (!models_source_read_hub(&source, hub->repo, hub->file, why, sizeof(why))) {
        return cli_fail(CLI_EXIT_USAGE, "invalid -hf %s: %s", hub->repo, why);
    }
    if (source.file[0]) {
        snprintf(word, size, "hf:%s/%s", source.repo, source.file);
    } else {
        snprintf(word, size, "hf:%s%s%s", source.repo, source.quant[0] ? ":" : "", source.quant);
    }
    return true;
}

static bool choose_word(const struct cli_flag *model, void *field, const struct cli_hub_flags *hub)
{
    char word[MODELS_MAX_URL + 8];
    if (!take_hub(hub, word, sizeof(word))) {
        return false;
    }
    if (model->kind == CLI_KIND_TEXT) {
        *(const char **)field = cli_copy(word);
    } else {
        *CLI_APPEND((struct cli_texts *)field) = cli_copy(word);
    }
    return true;
}

bool models_take_flags(const struct cli_command *command, const struct cli_report *report)
{
    const struct cli_flag *model = cli_find_flag(command, "-m");
    const struct cli_flag *repo = cli_find_flag(command, "-hf");
    if (!model || !repo) {
        return true;
    }
    char *settings = command->settings;
    const struct cli_hub_flags *hub = (void *)(settings + repo->offset);
    const bool is_given = cli_is_given(command, report, "-m");
    if (is_given + (hub->repo != NULL) + (hub->url != NULL) > 1) {
        return cli_fail(CLI_EXIT_USAGE, "-m, -hf and -mu exclude each other");
    }
    if (hub->file && !hub->repo) {
        return cli_fail(CLI_EXIT_USAGE, "-hff needs -hf");
    }
    if (hub->repo || hub->url) {
        return choose_word(model, settings + model->offset, hub);
    }
    return is_given || !command->needs_model ||
           cli_fail(CLI_EXIT_USAGE, "%s needs a model: -m %s that `glinfer models --known` lists",
                    command->name,
                    command->model ? command->model : "FILE.gguf, or a name such as smollm2-135m");
}
