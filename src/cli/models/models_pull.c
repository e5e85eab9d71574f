#include "cli/models/models_pull.h"

#include "cli/models/models_fetch.h"
#include "cli/models/models_hub.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define HUB       "https://huggingface.co"
#define MAX_PAGES 100 // of a list, a thousand files each

// A source's address in the network, and what is known of its file.
struct remote {
    char url[MODELS_MAX_URL];
    char sha256[65]; // "": not known
    uint64_t size;   // 0: not known
};

//-- progress --------------------------------------------------------------------------------------

static _Thread_local models_watch_fn watch_fn; // NULL: nobody watches
static _Thread_local void *watch_user;

void models_watch(models_watch_fn watch, void *user)
{
    watch_fn = watch;
    watch_user = user;
}

bool models_goes_on(const char *url, uint64_t done, uint64_t total)
{
    return !cli_is_interrupted() && (!watch_fn || watch_fn(watch_user, url, done, total));
}

//-- the hub ---------------------------------------------------------------------------------------

// Writes the hub's address without a slash at its end. Returns false with the reason printed.
static bool get_hub(char hub[512])
{
    const char *value = getenv("HF_ENDPOINT");
    value = value && value[0] ? value : HUB;
    const size_t size = strlen(value);
    if (size >= 512 ||
        (strncasecmp(value, "http://", 7) != 0 && strncasecmp(value, "https://", 8) != 0)) {
        return cli_fail(CLI_EXIT_USAGE, "invalid HF_ENDPOINT \"%.100s\": expected a URL", value);
    }
    snprintf(hub, 512, "%.*s", (int)(size - (size > 0 && value[size - 1] == '/')), value);
    return true;
}

// Sets *token to what is to be sent, NULL if there is none. Returns false with the reason printed.
static bool get_token(const struct models_asked *asked, const char **token)
{
    const char *value = asked->token ? asked->token : getenv("HF_TOKEN");
    *token = value && value[0] ? value : NULL;
    for (size_t i = 0; *token && value[i]; i++) {
        if ((unsigned char)value[i] <= ' ' || (unsigned char)value[i] >= 0x7F || i >= 512) {
            return cli_fail(CLI_EXIT_USAGE,
                            "invalid token in HF_TOKEN or -hft: it has spaces or is too long");
        }
    }
    return true;
}

// Appends a path, with what URLs give a meaning to written as %20.
static void append_path(char *url, size_t room, const char *path)
{
    size_t used = strlen(url);
    for (; *path && used + 4 < room; path++) {
        const unsigned char c = (unsigned char)*path;
        const bool is_plain = isalnum(c) || strchr("-._~/", c);
        used += (size_t)snprintf(url + used, room - used, is_plain ? "%c" : "%%%02X", c);
    }
}

// Reads all pages of the list at a URL, which is overwritten; *is_list: they are one. The next page
// is asked of the hub that has the first. Returns false with the reason printed.
static bool read_pages(const struct models_wanted *wanted, const char *hub,
                       char url[MODELS_MAX_URL], struct models_files *files, bool *is_list)
{
    char next[MODELS_MAX_URL];
    struct cli_bytes text = {0};
    bool is_read = true;
    *is_list = true;
    for (int n = 0; is_read && *is_list && url[0] && n < MAX_PAGES; n++) {
        is_read = models_fetch_text(wanted, &text, next);
        *is_list = is_read && models_hub_read(files, text.data ? text.data : "", text.size);
        const char *path = is_read ? strstr(next, "/api/models/") : NULL;
        const int size = path ? snprintf(url, MODELS_MAX_URL, "%s%s", hub, path) : 0;
        url[size < MODELS_MAX_URL ? size : 0] = '\0';
    }
    cli_bytes_finish(&text);
    return is_read;
}

// Returns true if a source asks for a whole repository, which has a model in SafeTensors.
static bool is_folder(const struct models_source *source, const struct models_files *files)
{
    return source->kind == MODELS_HUB && !source->file[0] && !source->quant[0] &&
           models_hub_is_folder(files);
}

// Asks the hub for the repository's files and chooses one, unless they are a folder's. Returns
// false with the reason printed.
static bool ask_hub(struct models_source *source, struct models_wanted *wanted,
                    struct models_files *files, const char *hub)
{
    char why[1024], url[MODELS_MAX_URL];
    bool is_list;
    snprintf(url, sizeof(url), "%s/api/models/%s/tree/main?recursive=true", hub, source->repo);
    wanted->url = url;
    const bool is_read = read_pages(wanted, hub, url, files, &is_list);
    wanted->url = "";
    if (!is_read || (is_list && is_folder(source, files))) {
        return is_read;
    }
    const struct models_file *file =
        is_list ? models_hub_choose(files, source, why, sizeof(why)) : NULL;
    return (file && models_source_choose(source, file->path)) ||
           cli_fail(CLI_EXIT_FAILED, "%s %s", source->repo,
                    !is_list ? "is not listed: the server sends no list of files"
                    : file   ? "has a file with a name that is not allowed here"
                             : why);
}

// Finds out where the file of a source is, and what the hub's list says of it; false with the
// reason printed.
static bool locate(const struct models_source *source, const char *hub,
                   const struct models_files *files, struct remote *remote)
{
    *remote = (struct remote){0};
    if (source->kind == MODELS_URL) {
        snprintf(remote->url, sizeof(remote->url), "%s", source->url);
        return true;
    }
    const struct models_file *file = models_hub_find(files, source->file);
    if (source->known) {
        remote->size = source->known->size;
        snprintf(remote->sha256, sizeof(remote->sha256), "%s", source->known->sha256);
    } else if (file) {
        remote->size = file->size;
        snprintf(remote->sha256, sizeof(remote->sha256), "%s", file->sha256);
    } else {
        return cli_fail(CLI_EXIT_FAILED, "%s has no %s, which is a piece of the model",
                        source->repo, source->file);
    }
    snprintf(remote->url, sizeof(remote->url), "%s/%s/resolve/main/", hub, source->repo);
    append_path(remote->url, sizeof(remote->url), source->file);
    return true;
}

//-- pulling ---------------------------------------------------------------------------------------

// Sets *is_right if the file at a path is what is wanted. Returns false with the reason printed if
// that cannot be told.
static bool check_file(const struct models_wanted *wanted, bool *is_right)
{
    struct stat state;
    char sha256[65], why[512];
    *is_right = false;
    if (stat(wanted->path, &state) != 0) {
        return true;
    }
    if (!S_ISREG(state.st_mode)) {
        return cli_fail(CLI_EXIT_FAILED, "cannot fetch to %s: %s is in its place; remove it",
                        wanted->path, S_ISDIR(state.st_mode) ? "a folder" : "a pipe or device");
    }
    if (wanted->size > 0 && (uint64_t)state.st_size != wanted->size) {
        cli_say("%s has another size than the file there and is fetched again", wanted->path);
        return true;
    }
    if (wanted->sha256[0] && !models_hash_path(wanted->path, sha256)) {
        return false;
    }
    *is_right = !wanted->sha256[0] || !sha256[0] || strcmp(sha256, wanted->sha256) == 0;
    if (!*is_right) {
        cli_say("%s has another sha256 than the file there and is fetched again", wanted->path);
    }
    if (*is_right && !wanted->sha256[0] && !wanted->is_any &&
        !models_is_whole(wanted->path, why, sizeof(why))) {
        cli_say("%s; it is fetched again", why);
        *is_right = false;
    }
    return true;
}

// Fetches what is wanted in the place of what is there, if that is something else.
static bool fetch(struct models_wanted *wanted, const struct models_known *known)
{
    bool is_right;
    if (!check_file(wanted, &is_right)) {
        return false;
    }
    if (is_right) {
        cli_say("%s is already on this machine", wanted->name);
        return true;
    }
    if (known) {
        cli_say("%s is %s, licence: %s", known->name, known->text, known->licence);
    }
    return models_fetch(wanted);
}

// Fetches the file of a source. common: the fields that all files of a model share. False with the
// reason printed.
static bool pull_file(const struct models_source *source, const struct models_wanted *common,
                      const char *hub, const struct models_files *files,
                      const struct models_asked *asked, char path[MODELS_MAX_PATH])
{
    struct remote remote;
    if (!locate(source, hub, files, &remote) || !models_cache_path(source->place, path)) {
        return false;
    }
    for (size_t i = 0; asked->sha256 && i < 65; i++) {
        remote.sha256[i] = (char)tolower((unsigned char)asked->sha256[i]);
    }
    struct models_wanted wanted = *common;
    wanted.path = path;
    wanted.url = remote.url;
    wanted.sha256 = remote.sha256;
    wanted.size = remote.size;
    return fetch(&wanted, source->known);
}

// Changes the source of a piece of a model to that of piece `number`.
static void set_piece(struct models_source *source, unsigned number)
{
    char *const texts[] = {source->file, source->place, source->url};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        unsigned own, count;
        const size_t size = i == 2 ? strcspn(texts[i], "?#") : strlen(texts[i]);
        const size_t at = models_piece(texts[i], size, &own, &count);
        if (at > 0) {
            models_set_piece(texts[i], at, number);
        }
    }
}

// Fetches all files of a source; path becomes that of the first.
static bool pull_pieces(struct models_source *source, struct models_wanted *wanted, const char *hub,
                        const struct models_files *files, const struct models_asked *asked,
                        char path[MODELS_MAX_PATH])
{
    unsigned number, count;
    models_piece(source->place, strlen(source->place), &number, &count);
    if (count == 1) {
        return pull_file(source, wanted, hub, files, asked, path);
    }
    if (asked->sha256) {
        return cli_fail(CLI_EXIT_USAGE, "cannot check %s with one --sha256: the model has %u files",
                        wanted->name, count);
    }
    for (number = 1; number <= count; number++) {
        set_piece(source, number);
        wanted->name = models_base_name(source->place);
        if (!pull_file(source, wanted, hub, files, asked, path)) {
            return false;
        }
    }
    set_piece(source, 1);
    return models_cache_path(source->place, path);
}

static bool pull_folder_file(const struct models_source *source, const struct models_wanted *common,
                             const char *hub, const struct models_file *file)
{
    char place[sizeof(source->place)], path[MODELS_MAX_PATH], url[MODELS_MAX_URL];
    struct models_wanted wanted = *common;
    snprintf(place, sizeof(place), "hf/%s/%s", source->repo, file->path);
    snprintf(url, sizeof(url), "%s/%s/resolve/main/", hub, source->repo);
    append_path(url, sizeof(url), file->path);
    if (!models_cache_path(place, path)) {
        return false;
    }
    wanted.name = file->path;
    wanted.path = path;
    wanted.url = url;
    wanted.sha256 = file->sha256;
    wanted.size = file->size;
    wanted.is_any = true;
    return fetch(&wanted, NULL);
}

// Fetches a folder with SafeTensors, config.json last: it tells that all others are there.
static bool pull_folder(const struct models_source *source, const struct models_wanted *common,
                        const char *hub, const struct models_files *files,
                        const struct models_asked *asked, char path[MODELS_MAX_PATH])
{
    char place[sizeof(source->place)];
    if (asked->sha256) {
        return cli_fail(CLI_EXIT_USAGE, "cannot check %s with one --sha256: it has several files",
                        common->name);
    }
    for (int is_last = 0; is_last < 2; is_last++) {
        for (size_t i = 0; i < files->folder.count; i++) {
            const struct models_file *file = &files->folder.items[i];
            if ((strcmp(file->path, "config.json") == 0) == is_last &&
                !pull_folder_file(source, common, hub, file)) {
                return false;
            }
        }
    }
    snprintf(place, sizeof(place), "hf/%s", source->repo);
    return models_cache_path(place, path);
}

bool models_pull(struct models_source *source, const char *word, const struct models_asked *asked,
                 char path[MODELS_MAX_PATH])
{
    char shown[MODELS_MAX_URL], hub[512];
    struct models_files files = {0};
    struct models_wanted wanted = {
        .name = models_shown(word, shown),
        .timeout_s = asked->timeout_s > 0 ? asked->timeout_s : MODELS_TIMEOUT_S,
        .sha256 = "",
    };
    if (!get_token(asked, &wanted.token) || !get_hub(hub)) {
        return false;
    }
    if (source->kind == MODELS_URL) {
        const size_t size = strlen(hub);
        const bool is_hub = strncmp(source->url, hub, size) == 0 && source->url[size] == '/';
        wanted.token = is_hub ? wanted.token : NULL;
    }
    const bool is_listed =
        source->kind == MODELS_URL || source->known || ask_hub(source, &wanted, &files, hub);
    const bool is_done =
        is_listed &&
        (is_folder(source, &files) ? pull_folder(source, &wanted, hub, &files, asked, path)
                                   : pull_pieces(source, &wanted, hub, &files, asked, path));
    models_files_finish(&files);
    return is_done;
}
