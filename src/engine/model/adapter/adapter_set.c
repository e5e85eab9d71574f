#include "engine/model/adapter/adapter_set.h"

#include "base/array.h"
#include "base/round.h"
#include "hf/folder/hf_adapter.h"
#include "hf/folder/hf_folder.h"
#include "hf/hf_json.h"
#include "quant/quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char suffix_a[] = ".lora_a", suffix_b[] = ".lora_b";
enum { SUFFIX_SIZE = sizeof(suffix_a) - 1, LARGEST_HALF = 65504 };

static int compare_names(struct gi_gguf_string a, struct gi_gguf_string b)
{
    const size_t size = a.size < b.size ? a.size : b.size;
    const int order = memcmp(a.data, b.data, size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_pairs(const void *a, const void *b)
{
    return compare_names(((const struct gi_adapter_pair *)a)->base,
                         ((const struct gi_adapter_pair *)b)->base);
}

static bool ends_with(struct gi_gguf_string name, const char *suffix)
{
    const size_t size = strlen(suffix);
    return name.size > size && memcmp(name.data + name.size - size, suffix, size) == 0;
}

struct gi_adapter_pair *gi_adapter_find(const struct gi_adapter *adapter,
                                        struct gi_gguf_string base)
{
    const struct gi_adapter_pair key = {.base = base};
    return adapter->n_pairs == 0
               ? NULL
               : bsearch(&key, adapter->pairs, adapter->n_pairs, sizeof(key), compare_pairs);
}

//-- keys ------------------------------------------------------------------------------------------

static bool is_text(struct gi_gguf_string text, const char *expected)
{
    return text.data && text.size == strlen(expected) &&
           memcmp(text.data, expected, text.size) == 0;
}

static bool read_keys(struct gi_adapter *adapter, struct glinfer_error *err)
{
    const struct gi_gguf *gguf = adapter->gguf;
    struct gi_gguf_string general, kind;
    if (!gi_gguf_get_string(gguf, "general.type", &general, err) ||
        !gi_gguf_get_string(gguf, "adapter.type", &kind, err) ||
        !gi_gguf_get_f32(gguf, "adapter.lora.alpha", 0, &adapter->alpha, err)) {
        return false;
    }
    if (!is_text(general, "adapter")) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: the file is not an adapter: its general.type is not \"adapter\"",
                            gi_gguf_path(gguf));
    }
    if (!is_text(kind, "lora")) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: the adapter is not of type \"lora\", which alone is supported",
                            gi_gguf_path(gguf));
    }
    if (gi_gguf_has(gguf, "adapter.alora.invocation_tokens")) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: the adapter is to be active only after some tokens (aLoRA), which "
                            "is not supported",
                            gi_gguf_path(gguf));
    }
    return isfinite(adapter->alpha) ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: adapter.lora.alpha is infinite or not a number", gi_gguf_path(gguf));
}

//-- pairs -----------------------------------------------------------------------------------------

// Checks that both halves of a pair are there and fit each other.
static bool check_pair(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair,
                       struct glinfer_error *err)
{
    const char *path = gi_gguf_path(adapter->gguf);
    const struct gi_gguf_tensor *a = pair->a, *b = pair->b;
    if (!a || !b) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: %.*s%s is missing", path,
                            (int)pair->base.size, pair->base.data, a ? suffix_b : suffix_a);
    }
    if (!gi_quant_find(a->type->type) || !gi_quant_find(b->type->type)) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: the matrices of %.*s are of types %s and %s; supported are %s",
                            path, (int)pair->base.size, pair->base.data, a->type->name,
                            b->type->name, gi_quant_names());
    }
    if (a->dims[2] != 1 || a->dims[3] != 1 || b->dims[2] != 1 || b->dims[3] != 1) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: the adapter changes the experts %.*s, which is not supported",
                            path, (int)pair->base.size, pair->base.data);
    }
    return (a->dims[1] == b->dims[0] && b->dims[0] <= GI_MAX_ADAPTER_RANK) ||
           gi_error_set(
               err, GLINFER_STATUS_BAD_FILE,
               "%s: the ranks of %.*s are %llu and %llu, expected equal ones of at most %u", path,
               (int)pair->base.size, pair->base.data, (unsigned long long)a->dims[1],
               (unsigned long long)b->dims[0], GI_MAX_ADAPTER_RANK);
}

// Takes tensor i of the file into the pairs, which are not sorted yet. Norms change nothing, as
// converters write them for all adapters.
static bool take_tensor(struct gi_adapter *adapter, const struct gi_gguf_tensor *tensor,
                        struct glinfer_error *err)
{
    const bool is_a = ends_with(tensor->name, suffix_a), is_b = ends_with(tensor->name, suffix_b);
    if (!is_a && !is_b) {
        return ends_with(tensor->name, "_norm.weight") ||
               gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: tensor %.*s is not a matrix of an adapter (.lora_a, .lora_b)",
                            gi_gguf_path(adapter->gguf), (int)tensor->name.size, tensor->name.data);
    }
    adapter->pairs[adapter->n_pairs++] = (struct gi_adapter_pair){
        .base = {tensor->name.data, tensor->name.size - SUFFIX_SIZE},
        .a = is_a ? tensor : NULL,
        .b = is_b ? tensor : NULL,
    };
    return true;
}

// Joins the halves of pairs, which are neighbours, and finds the rank.
static bool join_pairs(struct gi_adapter *adapter, struct glinfer_error *err)
{
    struct gi_adapter_pair *pairs = adapter->pairs;
    size_t n = 0;
    for (size_t i = 0; i < adapter->n_pairs; i++) {
        struct gi_adapter_pair *last = n > 0 ? &pairs[n - 1] : NULL;
        if (last && compare_pairs(last, &pairs[i]) == 0) {
            last->a = last->a ? last->a : pairs[i].a;
            last->b = last->b ? last->b : pairs[i].b;
        } else {
            pairs[n++] = pairs[i];
        }
    }
    adapter->n_pairs = n;
    for (size_t i = 0; i < n; i++) {
        if (!check_pair(adapter, &pairs[i], err)) {
            return false;
        }
        adapter->rank = gi_max_u32(adapter->rank, (uint32_t)pairs[i].b->dims[0]);
    }
    return n > 0 || gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: the adapter has no matrices",
                                 gi_gguf_path(adapter->gguf));
}

static bool read_pairs(struct gi_adapter *adapter, struct glinfer_error *err)
{
    const size_t n = gi_gguf_tensor_count(adapter->gguf);
    adapter->pairs = gi_array_zeroed(n, sizeof(adapter->pairs[0]), "an adapter", err);
    for (size_t i = 0; adapter->pairs && i < n; i++) {
        if (!take_tensor(adapter, gi_gguf_tensor_at(adapter->gguf, i), err)) {
            return false;
        }
    }
    if (!adapter->pairs) {
        return false;
    }
    if (adapter->n_pairs > 0) {
        qsort(adapter->pairs, adapter->n_pairs, sizeof(adapter->pairs[0]), compare_pairs);
    }
    return join_pairs(adapter, err);
}

//-- the set ---------------------------------------------------------------------------------------

bool gi_adapter_take(struct gi_adapter *adapter, struct gi_gguf *gguf, struct glinfer_error *err)
{
    *adapter = (struct gi_adapter){.gguf = gguf};
    return read_keys(adapter, err) && read_pairs(adapter, err);
}

// Opens a file, or a folder as of its model.
static struct gi_gguf *open_source(const struct glinfer_source *source, const struct gi_gguf *model,
                                   struct glinfer_error *err)
{
    const char *path = source->kind == GLINFER_SOURCE_PATH ? source->path : NULL;
    if (path && gi_hf_ends_in(path, ".safetensors") && !gi_hf_is_folder(path)) {
        gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                     "%s: an adapter in SafeTensors is given as the folder that it lies in, with "
                     "adapter_config.json",
                     path);
        return NULL;
    }
    return path && model && gi_hf_is_folder(path) ? gi_hf_open_adapter(path, model, err)
                                                  : gi_gguf_open(source, err);
}

bool gi_adapter_set_open(struct gi_adapter_set *set, const struct gi_gguf *model,
                         const struct glinfer_source *const *sources, uint32_t n,
                         struct glinfer_error *err)
{
    *set = (struct gi_adapter_set){0};
    bool ok = n <= GI_MAX_ADAPTERS ||
              gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                           "a model takes at most %u adapters, not %u", GI_MAX_ADAPTERS, n);
    for (uint32_t i = 0; ok && i < n; i++) {
        struct gi_adapter *adapter = &set->adapters[set->n++];
        struct gi_gguf *gguf = open_source(sources[i], model, err);
        ok = gguf && gi_adapter_take(adapter, gguf, err);
        adapter->begin = set->rank;
        set->rank += adapter->rank;
    }
    set->rank = (uint32_t)gi_round_up(set->rank, 4);
    ok = ok && (set->rank <= GI_MAX_ADAPTER_RANK ||
                gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                             "the adapters have a rank of %u together, at most %u is supported",
                             set->rank, GI_MAX_ADAPTER_RANK));
    if (!ok) {
        gi_adapter_set_close(set);
    }
    return ok;
}

void gi_adapter_close(struct gi_adapter *adapter)
{
    free(adapter->pairs);
    gi_gguf_close(adapter->gguf);
    *adapter = (struct gi_adapter){0};
}

void gi_adapter_set_close(struct gi_adapter_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        gi_adapter_close(&set->adapters[i]);
    }
    *set = (struct gi_adapter_set){0};
}

//-- an adapter and its model ----------------------------------------------------------------------

const struct gi_gguf_tensor *gi_adapter_base(const struct gi_adapter_pair *pair,
                                             const struct gi_gguf *model)
{
    char name[128];
    const int size = snprintf(name, sizeof(name), "%.*s", (int)pair->base.size, pair->base.data);
    return (size_t)size == pair->base.size && pair->base.size < sizeof(name)
               ? gi_gguf_tensor_find(model, name)
               : NULL;
}

float gi_adapter_factor(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair)
{
    return adapter->alpha != 0 ? adapter->alpha / (float)pair->b->dims[0] : 1;
}

bool gi_adapter_check_value(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair,
                            float value, struct glinfer_error *err)
{
    return fabsf(value) < LARGEST_HALF ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: alpha makes a value of %.*s.lora_b too large",
                        gi_gguf_path(adapter->gguf), (int)pair->base.size, pair->base.data);
}

bool gi_adapter_check_model(const struct gi_adapter *adapter, const struct gi_gguf *model,
                            struct glinfer_error *err)
{
    struct gi_gguf_string own, base;
    return gi_gguf_get_string(model, "general.architecture", &base, err) &&
           gi_gguf_get_string(adapter->gguf, "general.architecture", &own, err) &&
           ((own.size == base.size && memcmp(own.data, base.data, own.size) == 0) ||
            gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                         "%s: the adapter is made for models of \"%.*s\", and %s is one of "
                         "\"%.*s\"",
                         gi_gguf_path(adapter->gguf), (int)own.size, own.data ? own.data : "",
                         gi_gguf_path(model), (int)base.size, base.data));
}

bool gi_adapter_check_shape(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair,
                            const struct gi_gguf *model, const struct gi_gguf_tensor *tensor,
                            struct glinfer_error *err)
{
    const uint64_t n_cols = pair->a->dims[0], n_rows = pair->b->dims[1];
    return (n_cols == tensor->dims[0] && n_rows == tensor->dims[1]) ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: the adapter is made for another model: its %.*s has %llu columns and "
                        "%llu rows, that of %s %llu and %llu",
                        gi_gguf_path(adapter->gguf), (int)pair->base.size, pair->base.data,
                        (unsigned long long)n_cols, (unsigned long long)n_rows, gi_gguf_path(model),
                        (unsigned long long)tensor->dims[0], (unsigned long long)tensor->dims[1]);
}

bool gi_adapter_refuse(const struct gi_adapter *adapter, const struct gi_adapter_pair *pair,
                       const struct gi_gguf *model, struct glinfer_error *err)
{
    const bool is_there = gi_adapter_base(pair, model);
    return gi_error_set(err, is_there ? GLINFER_STATUS_UNSUPPORTED : GLINFER_STATUS_BAD_FILE,
                        is_there ? "%s: the adapter changes %.*s; adapters may change the matrices "
                                   "of attention and of dense networks only"
                                 : "%s: the adapter is made for another model: it changes %.*s, "
                                   "which the model lacks",
                        gi_gguf_path(adapter->gguf), (int)pair->base.size, pair->base.data);
}

float *gi_adapter_read(const struct gi_adapter *adapter, const struct gi_gguf_tensor *tensor,
                       size_t first, size_t n, struct glinfer_error *err)
{
    const struct gi_quant *quant = gi_quant_find(tensor->type->type);
    const size_t n_cols = (size_t)tensor->dims[0];
    const size_t row_size = (size_t)(tensor->size / tensor->dims[1]);
    float *values;
    uint8_t *bytes;
    bool ok = GI_ARRAYS_ZEROED("an adapter", err, GI_NEW(values, n_cols * n),
                               GI_NEW(bytes, n * row_size));
    ok = ok &&
         gi_gguf_tensor_read(adapter->gguf, tensor, first * row_size, n * row_size, bytes, err);
    for (size_t i = 0; ok && i < n; i++) {
        gi_quant_dequantize_row(quant, bytes + i * row_size, n_cols, values + i * n_cols);
    }
    for (size_t i = 0; ok && i < n_cols * n; i++) {
        ok = fabsf(values[i]) <= LARGEST_HALF ||
             gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                          "%s: %.*s has a value that is too large, infinite or not a number",
                          gi_gguf_path(adapter->gguf), (int)tensor->name.size, tensor->name.data);
    }
    free(bytes);
    if (!ok) {
        free(values);
        return NULL;
    }
    return values;
}
