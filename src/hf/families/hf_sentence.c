#include "hf/families/hf_sentence.h"

#include "base/array.h"
#include "base/bytes.h"
#include "quant/quant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOLING_MEAN = 1, POOLING_FIRST = 2, POOLING_LAST = 3 }; // of GGUF

// Returns true for the path of a module, which is the name of a folder within this one.
static bool is_folder_name(const char *path)
{
    return path[0] && path[0] != '/' && !strstr(path, "..") && strlen(path) < 64;
}

// Reads config.json of a module.
static cJSON *read_module(struct gi_hf_build *b, const char *path)
{
    char name[96];
    if (!is_folder_name(path)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "modules.json: the path \"%.60s\" is not that of a folder within this one",
                   path);
        return NULL;
    }
    snprintf(name, sizeof(name), "%s/config.json", path);
    cJSON *config = gi_hf_read_optional(b, name, cJSON_Object);
    if (!config) {
        gi_hf_fail(b, GLINFER_STATUS_NOT_FOUND, "%s is missing, which modules.json names", name);
    }
    return config;
}

//-- pooling ---------------------------------------------------------------------------------------

static bool is_on(const cJSON *config, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(config, key));
}

// Returns the pooling of a module's config.json, by the old keys or the new one; 0 if it is
// unknown.
static uint32_t find_pooling(const cJSON *config)
{
    const char *mode = gi_hf_json_text(config, "pooling_mode");
    if (is_on(config, "pooling_mode_mean_tokens") || strcmp(mode, "mean") == 0) {
        return POOLING_MEAN;
    }
    if (is_on(config, "pooling_mode_cls_token") || strcmp(mode, "cls") == 0) {
        return POOLING_FIRST;
    }
    return is_on(config, "pooling_mode_lasttoken") || strcmp(mode, "lasttoken") == 0 ? POOLING_LAST
                                                                                     : 0;
}

static void add_module_pooling(struct gi_hf_build *b, const char *path)
{
    cJSON *config = read_module(b, path);
    const uint32_t pooling = config ? find_pooling(config) : 0;
    if (pooling > 0) {
        gi_hf_add_u32(b, "pooling_type", pooling);
    } else {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "%s/config.json: the pooling is not supported, only mean, cls and lasttoken",
                   path);
    }
    cJSON_Delete(config);
}

static void add_classifier_pooling(struct gi_hf_build *b)
{
    const char *name = gi_hf_text_or(b, "classifier_pooling", NULL);
    if (!name) {
        return;
    }
    if (strcmp(name, "mean") != 0 && strcmp(name, "cls") != 0) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "config.json: classifier_pooling is \"%.40s\", only mean and cls are supported",
                   name);
    }
    gi_hf_add_u32(b, "classifier.pooling_type",
                  strcmp(name, "mean") == 0 ? POOLING_MEAN : POOLING_FIRST);
}

void gi_hf_add_pooling(struct gi_hf_build *b)
{
    cJSON *modules = gi_hf_read_optional(b, "modules.json", cJSON_Array);
    const cJSON *module;
    cJSON_ArrayForEach(module, modules)
    {
        if (gi_hf_ends_in(gi_hf_json_text(module, "type"), "Pooling")) {
            add_module_pooling(b, gi_hf_json_text(module, "path"));
            break;
        }
    }
    cJSON_Delete(modules);
    add_classifier_pooling(b);
}

//-- projections -----------------------------------------------------------------------------------

// Returns the elements of a tensor as floats, which the caller frees.
static float *read_floats(struct gi_hf_build *b, const struct gi_safetensors *files,
                          const struct gi_safetensor *t)
{
    const size_t n = (size_t)t->n_elements;
    float *values = gi_array_zeroed(n, sizeof(*values), "a projection", &b->out->error);
    if (!values || !gi_safetensors_read(files, t, 0, (size_t)t->size, values, &b->out->error)) {
        free(values);
        return NULL;
    }
    // From the end, as two bytes become four in place.
    const uint8_t *bytes = (const uint8_t *)values;
    for (size_t i = n; i > 0 && t->type == GI_SAFETENSORS_BF16; i--) {
        values[i - 1] = gi_bf16_to_float(gi_load_u16(bytes + 2 * (i - 1)));
    }
    return values;
}

static void add_projection(struct gi_hf_build *b, const char *name,
                           const struct gi_safetensors *files)
{
    char key[32], to[32];
    const struct gi_safetensor *t = gi_safetensors_find(files, "linear.weight");
    if (!t || t->n_dims != 2 || t->dims[0] > UINT16_MAX || t->dims[1] > UINT16_MAX ||
        (t->type != GI_SAFETENSORS_F32 && t->type != GI_SAFETENSORS_BF16) ||
        gi_safetensors_find(files, "linear.bias")) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "%s: expected a matrix linear.weight of F32 or BF16 and no linear.bias",
                   gi_safetensors_path(files));
        return;
    }
    float *values = read_floats(b, files, t);
    if (values) {
        snprintf(key, sizeof(key), "%s_feat_in", name);
        gi_hf_add_u32(b, key, (uint32_t)t->dims[1]);
        snprintf(key, sizeof(key), "%s_feat_out", name);
        gi_hf_add_u32(b, key, (uint32_t)t->dims[0]);
        snprintf(to, sizeof(to), "%s.weight", name);
        gi_hf_add_matrix(b, to, values, t->dims[0], t->dims[1]);
    }
    free(values);
}

static void add_dense_module(struct gi_hf_build *b, const char *name, const char *path)
{
    cJSON *config = read_module(b, path);
    char *folder = config ? gi_hf_path(b->folder, path, &b->out->error) : NULL;
    const char *function = gi_hf_json_text(config, "activation_function");
    if (config && !gi_hf_ends_in(function, "Identity")) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "%s/config.json: the activation_function \"%.60s\" is not supported, only "
                   "Identity",
                   path, function);
    }
    struct gi_safetensors *files =
        folder && gi_hf_ok(b) ? gi_safetensors_open_folder(folder, &b->out->error) : NULL;
    if (files) {
        add_projection(b, name, files);
    }
    gi_safetensors_close(files);
    free(folder);
    cJSON_Delete(config);
}

void gi_hf_add_dense(struct gi_hf_build *b)
{
    static const char *const names[] = {"dense_2", "dense_3"};
    cJSON *modules = gi_hf_read_optional(b, "modules.json", cJSON_Array);
    const cJSON *module;
    size_t n = 0;
    cJSON_ArrayForEach(module, modules)
    {
        if (!gi_hf_ends_in(gi_hf_json_text(module, "type"), "Dense")) {
            continue;
        }
        if (n == sizeof(names) / sizeof(names[0])) {
            gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                       "modules.json: more than two projections are not supported");
            break;
        }
        add_dense_module(b, names[n++], gi_hf_json_text(module, "path"));
    }
    cJSON_Delete(modules);
}

//-- labels ----------------------------------------------------------------------------------------

void gi_hf_add_labels(struct gi_hf_build *b)
{
    enum { MAX_LABELS = 256 };
    struct gi_gguf_string labels[MAX_LABELS];
    const cJSON *list = gi_hf_get(b, "id2label"), *item;
    char id[16], key[64];
    size_t n = 0;
    if (!gi_hf_find(b, "classifier.weight") || !cJSON_IsObject(list)) {
        return;
    }
    for (; n < MAX_LABELS; n++) {
        snprintf(id, sizeof(id), "%zu", n);
        item = cJSON_GetObjectItemCaseSensitive(list, id);
        if (!cJSON_IsString(item)) {
            break;
        }
        labels[n] = (struct gi_gguf_string){item->valuestring, strlen(item->valuestring)};
    }
    if (n > 0) {
        snprintf(key, sizeof(key), "%s.classifier.output_labels", b->arch);
        gi_gguf_add_strings(b->out, key, labels, n);
    }
}
