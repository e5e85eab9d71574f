#include "cli/models/models_hub.h"

#include "cli/common/cli_json_read.h"
#include "cli/common/cli_memory.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

//-- the list --------------------------------------------------------------------------------------

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cli_json_get(object, name));
    return text ? text : "";
}

static uint64_t size_of(const cJSON *object)
{
    const cJSON *size = cli_json_get(object, "size");
    const bool is_size =
        cJSON_IsNumber(size) && size->valuedouble > 0 && size->valuedouble < 0x1p53;
    return is_size ? (uint64_t)size->valuedouble : 0;
}

static void add_file(struct models_files *files, const cJSON *item)
{
    const char *path = text_of(item, "path");
    const cJSON *lfs = cli_json_get(item, "lfs");
    const char *sha256 = text_of(lfs, "oid");
    const bool is_model = models_ends_with(path, ".gguf") || models_is_ggml(path);
    files->has_adapter = files->has_adapter || strcmp(path, "adapter_config.json") == 0;
    if (strcmp(text_of(item, "type"), "file") != 0 || !(is_model || models_is_folder_file(path))) {
        return;
    }
    if (strlen(path) >= sizeof(files->items->path) || !models_is_place(path)) {
        files->has_strange = files->has_strange || is_model;
        return;
    }
    struct models_file *file = is_model ? CLI_APPEND(files) : CLI_APPEND(&files->folder);
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
static const char *const preferred[] = {
    "Q4_0",   "Q4_K_M", "Q4_K_S", "Q4_K_XL",   "Q8_0",   "Q4_1", "Q5_K_M", "Q5_K_S", "Q5_0", "Q6_K",
    "IQ4_NL", "IQ4_XS", "MXFP4",  "MXFP4_MOE", "Q3_K_M", "Q2_K", "F16",    "BF16",   "F32",
};
#define N_PREFERRED (sizeof(preferred) / sizeof(preferred[0]))

// True for a letter with digits after it, as types have: Q4_0, IQ4_XS, BF16, UD-Q4_K_XL.
static bool is_type(const char *quant)
{
    return isalpha((unsigned char)quant[0]) && strcspn(quant, "0123456789") < 5 &&
           strpbrk(quant, "0123456789");
}

// Returns true if a path has a type as a word of its own, in any case: Q4_0 is in "x-q4_0.gguf" and
// "x_q4_0-it.gguf", not in "x-Q4_0_4_4.gguf".
static bool has_quant(const char *path, const char *quant)
{
    const size_t size = strlen(quant);
    for (const char *at = path; strlen(at) >= size; at++) {
        const bool begins =
            at == path || (at[-1] == '_' ? is_type(quant) : !isalnum((unsigned char)at[-1]));
        const bool ends = strchr(" .-/", at[size]) != NULL; // the end too
        if (begins && ends && strncasecmp(at, quant, size) == 0) {
            return true;
        }
    }
    return false;
}

// Returns true if a path has a word with no letter or digit next to it, in any case.
static bool has_word(const char *path, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = strcasestr(path, word); at; at = strcasestr(at + 1, word)) {
        if ((at == path || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[size])) {
            return true;
        }
    }
    return false;
}

// True for a file that belongs to a model but is not one: projectors of images, importance
// matrices, adapters, heads that predict further tokens, vocabularies.
static bool is_aside(const char *path)
{
    const char *name = models_base_name(path);
    return strcasestr(path, "mmproj") || strcasestr(path, "imatrix") || has_word(path, "lora") ||
           strncasecmp(name, "mtp-", 4) == 0 || strncasecmp(name, "ggml-vocab", 10) == 0;
}

// True for a piece of a model but the first.
static bool is_later_piece(const char *path)
{
    unsigned number, count;
    models_piece(path, strlen(path), &number, &count);
    return number > 1;
}

// Returns true if a is to be taken rather than b: in one file rather than in several, with a
// shorter name.
static bool is_better(const char *a, const char *b)
{
    unsigned number, count_a, count_b;
    models_piece(a, strlen(a), &number, &count_a);
    models_piece(b, strlen(b), &number, &count_b);
    return (count_a > 1) != (count_b > 1) ? count_a == 1 : strlen(a) < strlen(b);
}

// Returns the best file of a type, "" being any type. Files of whisper.cpp must be asked for, as by
// "tiny": a repository has models of several sizes.
static const struct models_file *find_quant(const struct models_files *files, const char *quant,
                                            bool is_asked)
{
    const struct models_file *best = NULL;
    for (size_t i = 0; i < files->count; i++) {
        const char *path = files->items[i].path;
        if (!is_aside(path) && !is_later_piece(path) && (!quant[0] || has_quant(path, quant)) &&
            (is_asked || !models_is_ggml(path)) && (!best || is_better(path, best->path))) {
            best = &files->items[i];
        }
    }
    return best;
}

// Files of a model in SafeTensors: bits.
enum { HUB_CONFIG = 1, HUB_WEIGHTS = 2, HUB_TOKENIZER = 4 };
#define HUB_MODEL (HUB_CONFIG | HUB_WEIGHTS | HUB_TOKENIZER)

// Returns which of them a repository has.
static unsigned find_members(const struct models_files *files)
{
    unsigned members = 0;
    for (size_t i = 0; i < files->folder.count; i++) {
        const char *path = files->folder.items[i].path;
        const bool is_weight =
            strncmp(path, "model", 5) == 0 && models_ends_with(path, ".safetensors");
        members |= strcmp(path, "config.json") == 0      ? HUB_CONFIG
                   : is_weight                           ? HUB_WEIGHTS
                   : strcmp(path, "tokenizer.json") == 0 ? HUB_TOKENIZER
                                                         : 0;
    }
    return members;
}

bool models_hub_is_folder(const struct models_files *files)
{
    return files->count == 0 && find_members(files) == HUB_MODEL;
}

// Returns what a repository without a GGUF file has, and what to do.
static const char *find_other(const struct models_files *files)
{
    const unsigned members = find_members(files);
    return files->has_strange ? " with a name that is allowed here"
           : members == HUB_MODEL
               ? ", but SafeTensors: leave out the type, and choose one with --quantize"
           : members == (HUB_CONFIG | HUB_WEIGHTS)
               ? ", but SafeTensors without tokenizer.json, which glinfer needs: take a "
                 "repository with GGUF files of the model"
           : files->has_adapter ? ", but a LoRA adapter: fetch its files with another program, and "
                                  "give its model with -m and their folder with --lora"
                                : "";
}

void models_files_finish(struct models_files *files)
{
    free(files->items);
    free(files->folder.items);
    *files = (struct models_files){0};
}

const struct models_file *models_hub_find(const struct models_files *files, const char *path)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->items[i].path, path) == 0) {
            return &files->items[i];
        }
    }
    return NULL;
}

// Lists the models of the repository, as many as there is room for.
static void list_choice(const struct models_files *files, char *why, size_t size)
{
    const char *between = "; it has ";
    for (size_t i = 0; i < files->count; i++) {
        const size_t used = strlen(why), length = strlen(files->items[i].path);
        if (used + length + 16 > size) {
            snprintf(why + used, size - used, ", ...");
            return;
        }
        if (!is_later_piece(files->items[i].path) && !is_aside(files->items[i].path)) {
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
    if (source->file[0]) {
        file = models_hub_find(files, source->file);
    } else if (source->quant[0]) {
        file = find_quant(files, source->quant, true);
    } else {
        for (size_t i = 0; !file && i < N_PREFERRED; i++) {
            file = find_quant(files, preferred[i], false);
        }
        file = file ? file : find_quant(files, "", false);
    }
    if (file) {
        return file;
    }
    if (files->count == 0) {
        snprintf(why, size, "has no GGUF file%s", find_other(files));
        return NULL;
    }
    const char *wanted = source->file[0] ? source->file : source->quant;
    bool has_ggml = false;
    for (size_t i = 0; i < files->count; i++) {
        has_ggml = has_ggml || models_is_ggml(files->items[i].path);
    }
    snprintf(why, size, "has no %s",
             wanted[0]  ? wanted
             : has_ggml ? "GGUF file: name one of its models, as in :tiny"
                        : "model, only other files such as projectors and adapters");
    list_choice(files, why, size);
    return NULL;
}
