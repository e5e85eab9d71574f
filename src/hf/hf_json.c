#include "hf/hf_json.h"

#include "base/array.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

cJSON *gi_hf_json_parse(const char *text, size_t size, const char *path, struct glinfer_error *err)
{
    static const char pointer[] = "version https://git-lfs";
    const char *end = text;
    errno = 0;
    cJSON *json = cJSON_ParseWithLengthOpts(text, size, &end, false);
    if (!json && errno == ENOMEM) {
        gi_error_set(err, GLINFER_STATUS_NO_MEMORY, "out of memory: cannot parse %s", path);
        return NULL;
    }
    const char *rest = end;
    while (json && rest < text + size && strchr(" \t\r\n", *rest) && *rest) {
        rest++;
    }
    if (json && rest == text + size) {
        return json;
    }
    cJSON_Delete(json);
    if (size >= sizeof(pointer) - 1 && memcmp(text, pointer, sizeof(pointer) - 1) == 0) {
        gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                     "%s: is a pointer of Git LFS; the file itself comes with `git lfs pull`",
                     path);
        return NULL;
    }
    gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                 "%s: invalid JSON at byte %zu: the file is damaged or was not downloaded "
                 "completely",
                 path, (size_t)(rest - text));
    return NULL;
}

// Returns a key that an object has with two values; NULL without one, and for large objects such as
// vocabularies.
static const char *find_twice(const cJSON *object)
{
    enum { LARGE = 1000 };
    const bool is_small = cJSON_IsObject(object) && cJSON_GetArraySize(object) < LARGE;
    for (const cJSON *a = is_small ? object->child : NULL; a; a = a->next) {
        for (const cJSON *b = a->next; b; b = b->next) {
            if (strcmp(a->string, b->string) == 0 && !cJSON_Compare(a, b, true)) {
                return a->string;
            }
        }
    }
    return NULL;
}

// Fails if the tree is of another type, or a key has two values, of which libraries take one or
// the other.
static bool check_tree(const cJSON *json, const char *path, int type, struct glinfer_error *err)
{
    const char *twice = find_twice(json);
    if ((json->type & 0xff) != type) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: not a JSON %s: the file is damaged",
                            path, type == cJSON_Object ? "object" : "list");
    }
    for (const cJSON *item = json->child; item && !twice; item = item->next) {
        twice = find_twice(item);
    }
    return !twice || gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                                  "%s: has two values of %.64s: the file is damaged", path, twice);
}

static cJSON *read_opened(const struct gi_file *file, const char *path, int type,
                          struct glinfer_error *err)
{
    if (file->size > GI_HF_JSON_MAX_SIZE) {
        gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: has %" PRIu64 " bytes, more than %d", path,
                     file->size, GI_HF_JSON_MAX_SIZE);
        return NULL;
    }
    const size_t size = (size_t)file->size;
    char *text = gi_array_zeroed(size + 1, 1, "a JSON file", err);
    cJSON *json = NULL;
    if (text && gi_file_read(file, 0, size, text, path, err)) {
        json = gi_hf_json_parse(text, size, path, err);
    }
    free(text);
    if (json && !check_tree(json, path, type, err)) {
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

cJSON *gi_hf_json_read(const char *path, int type, struct glinfer_error *err)
{
    struct gi_file file;
    if (!gi_file_open(&file, path, err)) {
        return NULL;
    }
    cJSON *json = read_opened(&file, path, type, err);
    gi_file_close(&file);
    return json;
}

bool gi_hf_is_listed(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

char *gi_hf_path(const char *folder, const char *name, struct glinfer_error *err)
{
    const size_t n = strlen(folder), size = n + strlen(name) + 2;
    const bool has_slash = n > 0 && folder[n - 1] == '/';
    char *path = gi_array_zeroed(size, 1, "a path", err);
    if (path) {
        snprintf(path, size, "%s%s%s", folder, has_slash ? "" : "/", name);
    }
    return path;
}

bool gi_hf_ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

const char *gi_hf_json_text(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

bool gi_hf_json_count(const cJSON *json, uint64_t *count)
{
    if (!cJSON_IsNumber(json) || !(json->valuedouble >= 0) || json->valuedouble > 0x1p53 ||
        json->valuedouble != floor(json->valuedouble)) {
        return false;
    }
    *count = (uint64_t)json->valuedouble;
    return true;
}
