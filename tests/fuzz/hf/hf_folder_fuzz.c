// A folder of Hugging Face with any configuration, tokenizer and shapes, and an adapter of PEFT for
// it: what is opened is planned and read to its last byte, also with the adapter merged into it;
// what is refused comes with a status and a sentence.
//
// The input is a JSON object. Its members are the texts of files, but "tensors" and "adapter",
// which have the type and the shape of each tensor of model.safetensors and of
// adapter_model.safetensors, whose data are zeros.
#include "engine/model/adapter/adapter_merge.h"
#include "engine/model/model_info.h"
#include "hf/folder/hf_folder.h"
#include "hf/hf_json.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DATA = 4 << 20, MAX_NAME = 64 };

static char folder[] = "/tmp/glinfer-fuzz-XXXXXX";

static const char *const names[] = {"config.json", "tokenizer.json", "tokenizer_config.json",
                                    "generation_config.json", "adapter_config.json"};

static void check_error(bool is_done, const struct glinfer_error *err)
{
    FUZZ_CHECK(is_done || (err->status != GLINFER_STATUS_OK && err->message[0]));
}

static void remove_file(const char *name)
{
    char path[MAX_NAME];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static void remove_folder(void)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        remove_file(names[i]);
    }
    remove_file("model.safetensors");
    remove_file("adapter_model.safetensors");
    rmdir(folder);
}

static FILE *open_file(const char *name)
{
    char path[MAX_NAME];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file);
    return file;
}

static void write_text(const cJSON *files, const char *name)
{
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(files, name));
    remove_file(name);
    if (text) {
        FILE *file = open_file(name);
        fputs(text, file);
        fclose(file);
    }
    free(text);
}

// Returns the bytes of a tensor, whose shape follows its type; 0 for an invalid shape.
static double find_size(const cJSON *tensor)
{
    static const struct {
        const char *name;
        double size;
    } types[] = {{"F32", 4}, {"BF16", 2}, {"F16", 2}, {"U32", 4}, {"U8", 1}};
    const cJSON *type = cJSON_GetArrayItem(tensor, 0);
    double size = 0;
    for (size_t i = 0; cJSON_IsString(type) && i < sizeof(types) / sizeof(types[0]); i++) {
        size = strcmp(types[i].name, type->valuestring) == 0 ? types[i].size : size;
    }
    for (const cJSON *dim = type ? type->next : NULL; dim; dim = dim->next) {
        size *= dim->valuedouble >= 0 && dim->valuedouble < MAX_DATA ? dim->valuedouble : 0;
    }
    return size;
}

// Writes a file of SafeTensors; false if it would be large.
static bool write_tensors(const cJSON *tensors, const char *name)
{
    cJSON *header = cJSON_CreateObject();
    double done = 0;
    const cJSON *tensor;
    cJSON_ArrayForEach(tensor, tensors)
    {
        const double size = find_size(tensor);
        cJSON *own = cJSON_AddObjectToObject(header, tensor->string ? tensor->string : "");
        cJSON *shape = cJSON_Duplicate(tensor, true);
        cJSON_AddItemToObject(own, "dtype", cJSON_DetachItemFromArray(shape, 0));
        cJSON_AddItemToObject(own, "shape", shape);
        cJSON *offsets = cJSON_AddArrayToObject(own, "data_offsets");
        cJSON_AddItemToArray(offsets, cJSON_CreateNumber(done));
        cJSON_AddItemToArray(offsets, cJSON_CreateNumber(done + size));
        done += size;
    }
    char *text = cJSON_PrintUnformatted(header);
    const uint64_t size = text ? strlen(text) : 0;
    FILE *file = open_file(name);
    fwrite(&size, sizeof(size), 1, file);
    fputs(text ? text : "", file);
    fflush(file);
    const bool ok =
        done <= MAX_DATA && ftruncate(fileno(file), (off_t)(8 + size + (uint64_t)done)) == 0;
    fclose(file);
    free(text);
    cJSON_Delete(header);
    return ok;
}

static void read_all(const struct gi_gguf *gguf)
{
    static uint8_t bytes[1 << 20];
    for (size_t i = 0; i < gi_gguf_tensor_count(gguf); i++) {
        const struct gi_gguf_tensor *t = gi_gguf_tensor_at(gguf, i);
        struct glinfer_error err = {0};
        const size_t n = t->size < sizeof(bytes) ? (size_t)t->size : sizeof(bytes);
        check_error(gi_gguf_tensor_read(gguf, t, 0, n, bytes, &err), &err);
        const uint64_t at = t->size / 3;
        check_error(gi_gguf_tensor_read(gguf, t, at, (n - (size_t)(n / 3)) / 2, bytes, &err), &err);
    }
}

// Plans the model with the adapters, which may be NULL.
static void plan(const struct gi_gguf *gguf, struct gi_adapter_set *adapters)
{
    const struct gi_plan_limits limits = {.max_range = 128u << 20, .alignment = 256};
    struct gi_model_plan plan;
    struct glinfer_error err = {0};
    const bool is_planned = gi_model_plan_init(&plan, gguf, NULL, &limits, adapters, &err);
    check_error(is_planned, &err);
    if (is_planned) {
        gi_model_plan_finish(&plan);
    }
}

static void open_adapter(struct gi_gguf *gguf)
{
    const struct glinfer_source *source = GI_SOURCE_PATH(folder);
    struct gi_adapter_set set;
    struct glinfer_error err = {0};
    if (!gi_adapter_set_open(&set, gguf, &source, 1, &err)) {
        check_error(false, &err);
        return;
    }
    plan(gguf, &set);
    const bool is_merged = gi_adapter_merge(&set, gguf, 0.5f, &err);
    check_error(is_merged, &err);
    if (is_merged) {
        read_all(gguf);
    }
    gi_adapter_set_close(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_made;
    struct glinfer_error err = {0};
    cJSON *files = gi_hf_json_parse((const char *)data, size, "input", &err);
    if (!is_made) {
        FUZZ_CHECK(mkdtemp(folder));
        atexit(remove_folder);
        is_made = true;
    }
    for (size_t i = 0; files && i < sizeof(names) / sizeof(names[0]); i++) {
        write_text(files, names[i]);
    }
    const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(files, "tensors");
    const cJSON *adapter = cJSON_GetObjectItemCaseSensitive(files, "adapter");
    if (cJSON_IsObject(tensors) && write_tensors(tensors, "model.safetensors")) {
        const char *quantize = size % 2 ? "q4_0" : "none";
        struct gi_gguf *gguf = gi_hf_open(folder, quantize, &err);
        check_error(gguf != NULL, &err);
        if (gguf) {
            read_all(gguf);
            plan(gguf, NULL);
        }
        if (gguf && cJSON_IsObject(adapter) &&
            write_tensors(adapter, "adapter_model.safetensors")) {
            open_adapter(gguf);
        }
        gi_gguf_close(gguf);
    }
    cJSON_Delete(files);
    return 0;
}
