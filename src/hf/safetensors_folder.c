// The SafeTensors of a folder, by its index or without one.
#include "base/array.h"
#include "hf/hf_json.h"
#include "hf/safetensors_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_NAME "model.safetensors.index.json"
#define WHOLE_NAME "model.safetensors"

struct names {
    const char **data; // borrowed
    size_t count, capacity;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(struct names *names)
{
    if (names->count > 1) {
        qsort(names->data, names->count, sizeof(*names->data), compare_names);
    }
}

static bool add_file(struct gi_safetensors *files, const char *name, const char *listed_by,
                     struct glinfer_error *err)
{
    struct glinfer_error reason = {0};
    char *path = gi_hf_path(files->path, name, err);
    bool ok = path && gi_safetensors_add(files, GI_SOURCE_PATH(path), &reason);
    if (path && !ok && reason.status == GLINFER_STATUS_NOT_FOUND) {
        gi_error_set(err, reason.status,
                     "%s: the file is missing, which %s lists; download it, all files of a model "
                     "have to lie in one folder",
                     path, listed_by);
    } else if (path && !ok) {
        gi_error_pass(err, &reason);
    }
    free(path);
    return ok;
}

//-- with an index -------------------------------------------------------------------------------

// Fails unless a name of the index is that of a file in the folder itself.
static bool check_file_name(const char *folder, const cJSON *entry, struct glinfer_error *err)
{
    const char *name = cJSON_GetStringValue(entry);
    return (name && *name && *name != '.' && !strchr(name, '/')) ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s/" INDEX_NAME ": tensor %s: invalid file name, expected that of a file "
                        "in the folder",
                        folder, entry->string);
}

// Fails if a tensor appears twice.
static bool check_tensor_names(const char *folder, const cJSON *map, struct glinfer_error *err)
{
    struct names names = {0};
    bool ok = true;
    for (const cJSON *entry = map->child; ok && entry; entry = entry->next) {
        ok = check_file_name(folder, entry, err) &&
             GI_ARRAY_PUSH(&names, "the index of a model", err, entry->string);
    }
    sort_names(&names);
    for (size_t i = 1; ok && i < names.count; i++) {
        ok = strcmp(names.data[i - 1], names.data[i]) != 0 ||
             gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                          "%s/" INDEX_NAME ": names tensor %s twice: the file is damaged", folder,
                          names.data[i]);
    }
    free(names.data);
    return ok;
}

static bool open_listed(struct gi_safetensors *files, const cJSON *map, struct glinfer_error *err)
{
    struct names names = {0};
    bool ok = true;
    for (const cJSON *entry = map->child; ok && entry; entry = entry->next) {
        ok = GI_ARRAY_PUSH(&names, "the index of a model", err, entry->valuestring);
    }
    sort_names(&names);
    for (size_t i = 0; ok && i < names.count; i++) {
        if (i == 0 || strcmp(names.data[i - 1], names.data[i]) != 0) {
            ok = add_file(files, names.data[i], INDEX_NAME, err);
        }
    }
    free(names.data);
    return ok && gi_safetensors_sort(files, err);
}

// Checks that every tensor is in the file that the index names.
static bool check_places(const struct gi_safetensors *files, const cJSON *map,
                         struct glinfer_error *err)
{
    for (const cJSON *entry = map->child; entry; entry = entry->next) {
        const struct gi_safetensor *t = gi_safetensors_find(files, entry->string);
        const char *path = t ? gi_safetensors_file_path(files, t) : "";
        const char *slash = strrchr(path, '/');
        if (!t || strcmp(slash ? slash + 1 : path, entry->valuestring) != 0) {
            return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                                "%s/" INDEX_NAME ": tensor %s is not in %s: the files are of two "
                                "models or damaged",
                                files->path, entry->string, entry->valuestring);
        }
    }
    return true;
}

static bool open_index(struct gi_safetensors *files, const cJSON *index, struct glinfer_error *err)
{
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(index, "weight_map");
    if (!cJSON_IsObject(map) || !map->child) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s/" INDEX_NAME ": weight_map is missing or empty: the file is "
                            "damaged",
                            files->path);
    }
    return check_tensor_names(files->path, map, err) && open_listed(files, map, err) &&
           check_places(files, map, err);
}

//-- without an index ----------------------------------------------------------------------------

static int is_model(const struct dirent *entry)
{
    return strncmp(entry->d_name, "model", 5) == 0 && gi_hf_ends_in(entry->d_name, ".safetensors");
}

// Fails if the name of a file counts more files than the folder has.
static bool check_count(const char *folder, struct dirent *const *entries, int n,
                        struct glinfer_error *err)
{
    unsigned number, count;
    for (int i = 0; i < n; i++) {
        if (sscanf(entries[i]->d_name, "model-%5u-of-%5u.safetensors", &number, &count) == 2 &&
            count != (unsigned)n) {
            return gi_error_set(
                err, GLINFER_STATUS_NOT_FOUND,
                "%s: has %d of the %u files of a model that the name %s counts: download "
                "the missing ones",
                folder, n, count, entries[i]->d_name);
        }
    }
    return true;
}

static bool open_all(struct gi_safetensors *files, struct glinfer_error *err)
{
    struct dirent **entries = NULL;
    const int n = scandir(files->path, &entries, is_model, alphasort);
    if (n < 0) {
        return errno == ENOMEM
                   ? gi_error_no_memory(err, sizeof(*entries), "a list of files")
                   : gi_error_set(err, GLINFER_STATUS_IO, "%s: cannot read the folder: %s",
                                  files->path, strerror(errno));
    }
    bool ok =
        n > 0 || gi_error_set(err, GLINFER_STATUS_NOT_FOUND,
                              "%s: has no file " WHOLE_NAME " and no " INDEX_NAME, files->path);
    ok = ok && check_count(files->path, entries, n, err);
    for (int i = 0; i < n; i++) {
        ok = ok && add_file(files, entries[i]->d_name, "the folder", err);
        free(entries[i]);
    }
    free(entries);
    return ok && gi_safetensors_sort(files, err);
}

//-- open ----------------------------------------------------------------------------------------

static bool has_file(const char *folder, const char *name, bool *has, struct glinfer_error *err)
{
    struct gi_file file;
    struct glinfer_error reason = {0};
    char *path = gi_hf_path(folder, name, err);
    if (!path) {
        return false;
    }
    *has = gi_file_open(&file, path, &reason);
    free(path);
    if (*has) {
        gi_file_close(&file);
    }
    return *has || reason.status == GLINFER_STATUS_NOT_FOUND || gi_error_pass(err, &reason);
}

static bool open_files(struct gi_safetensors *files, struct glinfer_error *err)
{
    bool has_index = false, has_whole = false;
    if (!has_file(files->path, INDEX_NAME, &has_index, err) ||
        !has_file(files->path, WHOLE_NAME, &has_whole, err)) {
        return false;
    }
    if (!has_index) {
        return has_whole ? add_file(files, WHOLE_NAME, "the folder", err) &&
                               gi_safetensors_sort(files, err)
                         : open_all(files, err);
    }
    char *path = gi_hf_path(files->path, INDEX_NAME, err);
    cJSON *index = path ? gi_hf_json_read(path, cJSON_Object, err) : NULL;
    const bool ok = index && open_index(files, index, err);
    cJSON_Delete(index);
    free(path);
    return ok;
}

struct gi_safetensors *gi_safetensors_open_folder(const char *folder, struct glinfer_error *err)
{
    struct gi_safetensors *files = gi_safetensors_create(folder, err);
    if (files && !open_files(files, err)) {
        gi_safetensors_close(files);
        return NULL;
    }
    return files;
}
