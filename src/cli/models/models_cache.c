#include "cli/models/models_cache.h"

#include "cli/common/cli_io.h"
#include "cli/models/models_hub.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MAX_DEPTH 12 // of folders in the cache

bool models_cache_folder(char path[MODELS_MAX_PATH])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int size = -1;
    if (cache && cache[0] == '/') {
        size = snprintf(path, MODELS_MAX_PATH, "%s/glinfer/models", cache);
    } else if (home && home[0]) {
        size = snprintf(path, MODELS_MAX_PATH, "%s/.cache/glinfer/models", home);
    }
    return (size > 0 && size < MODELS_MAX_PATH - 1024) ||
           cli_fail(CLI_EXIT_FAILED, "cannot find a folder for models: set HOME or XDG_CACHE_HOME");
}

bool models_cache_path(const char *place, char path[MODELS_MAX_PATH])
{
    if (!models_cache_folder(path)) {
        return false;
    }
    const size_t used = strlen(path);
    const int size = snprintf(path + used, MODELS_MAX_PATH - used, "/%s", place);
    return (size > 0 && (size_t)size < MODELS_MAX_PATH - used - 16) ||
           cli_fail(CLI_EXIT_FAILED, "invalid path %.100s...: it is too long", place);
}

//-- listing ---------------------------------------------------------------------------------------

// Returns the length of "hf/USER/REPO" in the place of a file of a folder with SafeTensors; 0 for
// another place.
static size_t folder_size(const char *place)
{
    const char *user = strncmp(place, "hf/", 3) == 0 ? strchr(place + 3, '/') : NULL;
    const char *rest = user ? strchr(user + 1, '/') : NULL;
    return rest && models_is_folder_file(rest + 1) ? (size_t)(rest - place) : 0;
}

static void add_file(struct models_list *list, const char *place, uint64_t size)
{
    const bool is_part = models_ends_with(place, ".part");
    const size_t length = strlen(place) - (is_part ? strlen(".part") : 0);
    char *own = cli_alloc(length + 1, 1);
    memcpy(own, place, length);
    own[length] = '\0';
    const size_t repo_size = folder_size(own);
    if (repo_size == 0 && models_stem_size(own) == 0) {
        free(own);
        return;
    }
    // The last file of a folder that is fetched is config.json.
    const bool is_whole =
        !is_part && (repo_size == 0 || strcmp(own + repo_size, "/config.json") == 0);
    own[repo_size > 0 ? repo_size : length] = '\0';
    struct models_entry *entry = CLI_APPEND(list);
    *entry = (struct models_entry){.place = own,
                                   .size = size,
                                   .is_whole = is_whole,
                                   .n_whole = is_whole,
                                   .is_folder = repo_size > 0};
}

// Lists files below a folder; links count as what they lead to.
static bool list_folder(struct models_list *list, char *folder)
{
    char *const roots[] = {folder, NULL};
    const size_t size = strlen(folder);
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    FTSENT *found = NULL;
    int reason = tree ? 0 : errno;
    while (tree && (errno = 0, (found = fts_read(tree)) != NULL)) {
        if (found->fts_info == FTS_DNR || (found->fts_level == 0 && found->fts_info == FTS_NS)) {
            reason = found->fts_errno != ENOENT ? found->fts_errno : reason;
        } else if (found->fts_pathlen < size + 1024) {
            if (found->fts_level > 0 &&
                (found->fts_name[0] == '.' || found->fts_level > MAX_DEPTH)) {
                fts_set(tree, found, FTS_SKIP);
            } else if (found->fts_info == FTS_F) {
                add_file(list, found->fts_path + size + (found->fts_level > 0),
                         (uint64_t)found->fts_statp->st_size);
            }
        }
    }
    if (tree) {
        fts_close(tree);
    }
    return reason == 0 || cli_fail(CLI_EXIT_FAILED, "cannot read %s: %s", folder, strerror(reason));
}

static int compare_entries(const void *a, const void *b)
{
    const struct models_entry *x = a, *y = b;
    const int order = strcmp(x->place, y->place);
    return order != 0 ? order : (int)y->is_whole - (int)x->is_whole;
}

static void join_pieces(struct models_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct models_entry entry = list->items[i];
        unsigned number, count;
        const size_t at = models_piece(entry.place, strlen(entry.place), &number, &count);
        size_t same = n;
        if (at > 0 || entry.is_folder) {
            if (at > 0) {
                models_set_piece(entry.place, at, 1);
                entry.is_whole = entry.n_whole == count;
            }
            for (same = 0; same < n && strcmp(list->items[same].place, entry.place) != 0;) {
                same++;
            }
        }
        if (same == n) {
            list->items[n++] = entry;
            continue;
        }
        list->items[same].size += entry.size;
        list->items[same].n_whole += entry.n_whole;
        list->items[same].is_whole = list->items[same].n_whole == count; // 1 for a folder
        free(entry.place);
    }
    list->count = n;
}

bool models_cache_list(struct models_list *list)
{
    char folder[MODELS_MAX_PATH];
    *list = (struct models_list){0};
    if (!models_cache_folder(folder) || !list_folder(list, folder)) {
        models_list_finish(list);
        return false;
    }
    if (list->count > 1) {
        qsort(list->items, list->count, sizeof(*list->items), compare_entries);
    }
    join_pieces(list);
    return true;
}

void models_list_finish(struct models_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].place);
    }
    free(list->items);
    *list = (struct models_list){0};
}

//-- names -----------------------------------------------------------------------------------------

void models_entry_name(const struct models_entry *entry, char *name, size_t size)
{
    const struct models_known *known;
    for (size_t i = 0; (known = models_known_at(i)) != NULL; i++) {
        if (strcmp(known->file, entry->place) == 0) {
            snprintf(name, size, "%s", known->name);
            return;
        }
    }
    if (strncmp(entry->place, "hf/", 3) == 0) {
        snprintf(name, size, "hf:%s", entry->place + 3);
    } else if (strchr(entry->place, '/')) {
        snprintf(name, size, "%s", entry->place);
    } else {
        snprintf(name, size, "%.*s", (int)models_stem_size(entry->place), entry->place);
    }
}

static bool is_called(const struct models_entry *entry, const char *name)
{
    char own[1100];
    const char *base = models_base_name(entry->place);
    const size_t size = models_stem_size(base);
    models_entry_name(entry, own, sizeof(own));
    return strcmp(own, name) == 0 || strcmp(base, name) == 0 ||
           (strlen(name) == size && strncmp(base, name, size) == 0);
}

const struct models_entry *models_list_find(const struct models_list *list, const char *name,
                                            size_t *count)
{
    const struct models_entry *found = NULL;
    *count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct models_entry *entry = &list->items[i];
        // A model that is whole comes before the rest of a pull of it.
        const bool is_same = found && strcmp(found->place, entry->place) == 0;
        if (!is_same && is_called(entry, name)) {
            found = entry;
            (*count)++;
        }
    }
    return *count == 1 ? found : NULL;
}

// Adds what is here of a source's repository.
static void add_files(const struct models_list *list, const struct models_source *source,
                      struct models_files *files)
{
    char prefix[256];
    const int size = snprintf(prefix, sizeof(prefix), "hf/%s/", source->repo);
    for (size_t i = 0; i < list->count; i++) {
        const struct models_known *known = models_known_file(source->repo, list->items[i].place);
        const bool is_below = strncmp(list->items[i].place, prefix, (size_t)size) == 0;
        if (list->items[i].is_whole && !list->items[i].is_folder && (known || is_below)) {
            struct models_file *file = CLI_APPEND(files);
            *file = (struct models_file){.size = list->items[i].size};
            snprintf(file->path, sizeof(file->path), "%s",
                     list->items[i].place + (known ? 0 : size));
        }
    }
}

// Returns the complete folder with SafeTensors of a source's repository; NULL if the cache lacks it
// or the source asks for a file.
static const struct models_entry *find_folder(const struct models_list *list,
                                              const struct models_source *source)
{
    char place[256];
    if (source->kind != MODELS_HUB || source->file[0] || source->quant[0]) {
        return NULL;
    }
    snprintf(place, sizeof(place), "hf/%s", source->repo);
    for (size_t i = 0; i < list->count; i++) {
        const struct models_entry *entry = &list->items[i];
        if (entry->is_folder && entry->is_whole && strcmp(entry->place, place) == 0) {
            return entry;
        }
    }
    return NULL;
}

// Returns a complete file of a source, which may match several; NULL if there is none.
static const struct models_entry *find_source(const struct models_list *list,
                                              const struct models_source *source)
{
    struct models_source chosen = *source;
    const struct models_entry *folder = find_folder(list, source);
    if (folder) {
        return folder;
    }
    if (source->kind == MODELS_HUB && !source->file[0]) {
        char why[512];
        struct models_files files = {0};
        add_files(list, source, &files);
        const struct models_file *file = models_hub_choose(&files, source, why, sizeof(why));
        const bool is_there = file && models_source_choose(&chosen, file->path);
        models_files_finish(&files);
        if (!is_there) {
            return NULL;
        }
    }
    unsigned number, count;
    const size_t at = models_piece(chosen.place, strlen(chosen.place), &number, &count);
    if (at > 0) {
        models_set_piece(chosen.place, at, 1);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].is_whole && strcmp(list->items[i].place, chosen.place) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

//-- removing --------------------------------------------------------------------------------------

// Returns true if another process is fetching the file.
static bool is_fetched(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_locked = file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (file >= 0) {
        close(file);
    }
    return is_locked;
}

bool models_cache_find(const struct models_source *source, char path[MODELS_MAX_PATH], char *name,
                       size_t size)
{
    struct models_list list;
    if (!models_cache_list(&list)) {
        return false;
    }
    const struct models_entry *entry = find_source(&list, source);
    const bool is_here = entry && models_cache_path(entry->place, path);
    if (is_here && name) {
        models_entry_name(entry, name, size);
    }
    models_list_finish(&list);
    return is_here;
}

void models_cache_prune(const char *path)
{
    char folder[MODELS_MAX_PATH], parent[MODELS_MAX_PATH];
    if (!models_cache_folder(folder)) {
        return;
    }
    snprintf(parent, sizeof(parent), "%s", path);
    for (char *slash = strrchr(parent, '/'); slash && slash > parent + strlen(folder);
         slash = strrchr(parent, '/')) {
        *slash = '\0';
        rmdir(parent); // stops at the first that holds something
    }
}

// Removes a file, or the part of one.
static bool remove_file(const char *path)
{
    static const char *const endings[] = {".part", ".part.from", ""};
    char file[MODELS_MAX_PATH + 16];
    snprintf(file, sizeof(file), "%s.part", path);
    if (is_fetched(file)) {
        return cli_fail(CLI_EXIT_FAILED, "cannot remove %s: another glinfer is fetching it", path);
    }
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        snprintf(file, sizeof(file), "%s%s", path, endings[i]);
        if (unlink(file) != 0 && errno != ENOENT) {
            return cli_fail(CLI_EXIT_FAILED, "cannot remove %s: %s", file, strerror(errno));
        }
    }
    return true;
}

// Removes the files of a folder with SafeTensors, config.json first.
static bool remove_folder(const char *path)
{
    char config[MODELS_MAX_PATH + 16];
    char *const roots[] = {(char *)(uintptr_t)path, NULL};
    snprintf(config, sizeof(config), "%s/config.json", path);
    if (!remove_file(config)) {
        return false;
    }
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const size_t size = strlen(path);
    bool is_done = true;
    for (FTSENT *found = tree ? fts_read(tree) : NULL; found && is_done; found = fts_read(tree)) {
        char *own = found->fts_path;
        const size_t length = found->fts_pathlen;
        const bool is_part = models_ends_with(own, ".part");
        own[is_part ? length - strlen(".part") : length] = '\0';
        if ((found->fts_info == FTS_F || found->fts_info == FTS_SL) && found->fts_level > 0 &&
            models_is_folder_file(own + size + 1)) {
            is_done = remove_file(own);
            models_cache_prune(own);
        }
        if (is_part) {
            own[length - strlen(".part")] = '.';
        }
    }
    if (tree) {
        fts_close(tree);
    }
    return is_done;
}

bool models_cache_remove(const struct models_entry *entry)
{
    char path[MODELS_MAX_PATH];
    unsigned number, count;
    if (!models_cache_path(entry->place, path)) {
        return false;
    }
    if (entry->is_folder) {
        const bool is_done = remove_folder(path);
        models_cache_prune(path);
        return is_done;
    }
    const size_t at = models_piece(path, strlen(path), &number, &count);
    for (number = 1; number <= count; number++) {
        if (at > 0) {
            models_set_piece(path, at, number);
        }
        if (!remove_file(path)) {
            return false;
        }
    }
    models_cache_prune(path);
    return true;
}
