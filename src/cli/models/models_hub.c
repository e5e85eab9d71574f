#include "cli/models/models_hub.h"

#include "cli/common/cli_memory.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

//-- the list --------------------------------------------------------------------------------------

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text ? text : "";
}

static uint64_t size_of(const cJSON *object)
{
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(object, "size");
    const bool is_size =
        cJSON_IsNumber(size) && size->valuedouble > 0 && size->valuedouble < 0x1p53;
    return is_size ? (uint64_t)size->valuedouble : 0;
}

static void add_file(struct models_files *files, const cJSON *item)
{
    const char *path = text_of(item, "path");
    const cJSON *lfs = cJSON_GetObjectItemCaseSensitive(item, "lfs");
    const char *sha256 = text_of(lfs, "oid");
    files->has_safetensors = files->has_safetensors || models_ends_with(path, ".safetensors");
    if (strcmp(text_of(item, "type"), "file") != 0 || !models_ends_with(path, ".gguf") ||
        strlen(path) >= sizeof(files->items->path) || !models_is_place(path)) {
        return;
    }
    struct models_file *file = CLI_APPEND(files);
    *file = (struct models_file){.size = size_of(lfs) > 0 ? size_of(lfs) : size_of(item)};
    memcpy(file->path, path, strlen(path) + 1);
    for (size_t i = 0; i < 64 && models_is_sha256(sha256); i++) {
        file->sha256[i] = (char)tolower((unsigned char)sha256[i]);
    }
}

bool models_hub_read(struct models_files *files, const char *json, size_t size)
{
    cJSON *tree = cJSON_ParseWithLength(json, size);
    const bool is_list = cJSON_IsArray(tree);
    const cJSON *item;
    cJSON_ArrayForEach(item, tree)
    {
        if (is_list) {
            add_file(files, item);
        }
    }
    cJSON_Delete(tree);
    return is_list;
}

//-- the choice ------------------------------------------------------------------------------------

// The types in the order in which they are taken where none is asked for.
static const char *const preferred[] = {"Q4_0",   "Q4_K_M", "Q4_K_S", "Q8_0",   "Q4_1",   "Q5_K_M",
                                        "Q5_K_S", "Q5_0",   "Q6_K",   "IQ4_NL", "IQ4_XS", "Q3_K_M",
                                        "Q2_K",   "F16",    "BF16",   "F32"};
#define N_PREFERRED (sizeof(preferred) / sizeof(preferred[0]))

// True if a path has a type as a word of its own, in any case: Q4_0 is in "x-q4_0.gguf", not in
// "x-Q4_0_4_4.gguf".
static bool has_quant(const char *path, const char *quant)
{
    const size_t size = strlen(quant);
    for (const char *at = path; strlen(at) >= size; at++) {
        const bool begins = at == path || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        const bool ends = strchr(".-/", at[size]) != NULL; // the end too
        if (begins && ends && strncasecmp(at, quant, size) == 0) {
            return true;
        }
    }
    return false;
}

// True for "x-00001-of-00003.gguf".
static bool is_split(const char *path)
{
    const char *of = strstr(models_base_name(path), "-of-");
    return of && of - models_base_name(path) >= 6 && of[-6] == '-' &&
           strspn(of - 5, "0123456789") == 5 && strspn(of + 4, "0123456789") == 5;
}

// True for what belongs to a model but is none: projectors of images, importance matrices.
static bool is_aside(const char *path)
{
    const char *name = models_base_name(path);
    return strncasecmp(name, "mmproj", 6) == 0 || strstr(name, "imatrix") != NULL;
}

// Returns the whole file of a type with the shortest name, "" being any type; counts split ones.
static const struct models_file *find_quant(const struct models_files *files, const char *quant,
                                            size_t *n_split)
{
    const struct models_file *best = NULL;
    for (size_t i = 0; i < files->count; i++) {
        const struct models_file *file = &files->items[i];
        if (is_aside(file->path) || (quant[0] && !has_quant(file->path, quant))) {
            continue;
        }
        if (is_split(file->path)) {
            (*n_split)++;
        } else if (!best || strlen(file->path) < strlen(best->path)) {
            best = file;
        }
    }
    return best;
}

static const struct models_file *find_path(const struct models_files *files, const char *path)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->items[i].path, path) == 0) {
            return &files->items[i];
        }
    }
    return NULL;
}

// Says which whole files there are, as far as there is room.
static void list_choice(const struct models_files *files, char *why, size_t size)
{
    const char *between = "; it has ";
    for (size_t i = 0; i < files->count; i++) {
        const size_t used = strlen(why), length = strlen(files->items[i].path);
        if (used + length + 16 > size) {
            snprintf(why + used, size - used, ", ...");
            return;
        }
        if (!is_split(files->items[i].path) && !is_aside(files->items[i].path)) {
            snprintf(why + used, size - used, "%s%s", between, files->items[i].path);
            between = ", ";
        }
    }
}

const struct models_file *models_hub_choose(const struct models_files *files,
                                            const struct models_source *source, char *why,
                                            size_t size)
{
    const struct models_file *file = NULL;
    size_t n_split = 0;
    if (source->file[0]) {
        file = find_path(files, source->file);
        n_split = file && is_split(source->file);
        file = n_split ? NULL : file;
    } else if (source->quant[0]) {
        file = find_quant(files, source->quant, &n_split);
    } else {
        for (size_t i = 0; !file && i < N_PREFERRED; i++) {
            file = find_quant(files, preferred[i], &n_split);
        }
        file = file ? file : find_quant(files, "", &n_split);
    }
    if (file) {
        return file;
    }
    if (files->count == 0) {
        snprintf(why, size, "has no GGUF file%s",
                 files->has_safetensors
                     ? ", but safetensors, which glinfer does not read; look for "
                       "a repository of the same name with -GGUF behind it"
                     : "");
    } else if (n_split > 0) {
        snprintf(why, size,
                 "has this only as a file in several pieces, which glinfer does not read");
        list_choice(files, why, size);
    } else {
        snprintf(why, size, "has no %s", source->file[0] ? source->file : source->quant);
        list_choice(files, why, size);
    }
    return NULL;
}
