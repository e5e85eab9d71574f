#include "engine/model/plan/spare_tensors.h"

#include "base/array.h"
#include "engine/model/plan/plan_tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins_with(struct gi_gguf_string name, const char *prefix)
{
    const size_t size = strlen(prefix);
    return name.size >= size && memcmp(name.data, prefix, size) == 0;
}

static bool ends_with(struct gi_gguf_string name, const char *suffix)
{
    const size_t size = strlen(suffix);
    return name.size >= size && memcmp(name.data + name.size - size, suffix, size) == 0;
}

static bool begins_with_any(struct gi_gguf_string name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        if (begins_with(name, *prefixes)) {
            return true;
        }
    }
    return false;
}

// Returns the number after "blk.", 0 for other names.
static uint32_t layer_of(struct gi_gguf_string name)
{
    uint32_t layer = 0;
    for (size_t i = 4; begins_with(name, "blk.") && i < name.size && layer < GI_MAX_LAYERS; i++) {
        if (name.data[i] < '0' || name.data[i] > '9') {
            break;
        }
        layer = 10 * layer + (uint32_t)(name.data[i] - '0');
    }
    return layer;
}

// True for keys and values of a layer that reads those of an earlier one, which a file may have.
static bool is_shared_kv(const struct gi_model_plan *plan, struct gi_gguf_string name)
{
    const uint32_t layer = layer_of(name);
    bool is_kv = false;
    for (size_t i = 0; i + 7 <= name.size; i++) {
        is_kv = is_kv || memcmp(name.data + i, ".attn_k", 7) == 0 ||
                memcmp(name.data + i, ".attn_v", 7) == 0;
    }
    return is_kv && gi_layer_kind(&plan->hparams, layer) == GI_LAYER_SHARED_KV;
}

static void mark(const struct gi_model_plan *plan, const struct gi_gguf_tensor *tensor,
                 bool *is_read)
{
    if (tensor) {
        is_read[tensor - gi_gguf_tensor_at(plan->gguf, 0)] = true;
    }
}

static void mark_all(const struct gi_model_plan *plan, bool *is_read)
{
    const size_t n_norms = (size_t)plan->hparams.n_layer * GI_NORM_COUNT + 2;
    for (uint32_t i = 0; i < plan->n_weights; i++) {
        const struct gi_plan_weight *weight = &plan->weights[i];
        for (uint32_t j = 0; j < weight->n_sources; j++) {
            mark(plan, weight->sources[j].tensor, is_read);
            mark(plan, weight->sources[j].bias, is_read);
            mark(plan, weight->sources[j].factor, is_read);
        }
    }
    for (size_t i = 0; i < n_norms; i++) {
        mark(plan, plan->norms[i], is_read);
    }
    mark(plan, plan->rope_factors, is_read);
    mark(plan, plan->long_rope_factors, is_read);
}

// Returns true if a tensor that nothing reads belongs to a weight that is read: "x.anything" next
// to "x.weight", or any "x.scale".
static bool is_of_weight(const struct gi_model_plan *plan, struct gi_gguf_string name,
                         const bool *is_read)
{
    static const char weight[] = ".weight";
    char other[GI_PLAN_NAME_SIZE];
    size_t stem = name.size;
    while (stem > 0 && name.data[stem - 1] != '.') {
        stem--;
    }
    if (stem < 2 || stem + sizeof(weight) > sizeof(other)) {
        return false;
    }
    snprintf(other, sizeof(other), "%.*s%s", (int)stem - 1, name.data, weight);
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(plan->gguf, other);
    return ends_with(name, ".scale") ||
           (tensor && is_read[tensor - gi_gguf_tensor_at(plan->gguf, 0)]);
}

static void count(const struct gi_model_plan *plan, struct gi_gguf_string name, const bool *is_read,
                  struct gi_spare_tensors *spare)
{
    static const char *const vision[] = {"v.", "mm.", "vision.", NULL};
    static const char *const audio[] = {"a.", "audio.", NULL};
    // Names tensors of embeddings, which are read elsewhere.
    static const char *const heads[] = {"cls", "dense_", "position_embd", "token_types", NULL};
    if (begins_with_any(name, vision)) {
        spare->n_vision++;
    } else if (begins_with_any(name, audio)) {
        spare->n_audio++;
    } else if (layer_of(name) >= plan->hparams.n_layer) {
        spare->n_next++;
    } else if (begins_with_any(name, heads) || is_shared_kv(plan, name) ||
               ends_with(name, ".input_scale")) { // of engines that round the input of a matrix
        return;
    } else if (is_of_weight(plan, name, is_read)) {
        spare->of_weight = spare->of_weight.size == 0 ? name : spare->of_weight;
    } else {
        spare->other = spare->n_other++ == 0 ? name : spare->other;
    }
}

bool gi_spare_tensors_find(const struct gi_model_plan *plan, struct gi_spare_tensors *spare,
                           struct glinfer_error *err)
{
    const size_t n = gi_gguf_tensor_count(plan->gguf);
    bool *is_read = gi_array_zeroed(n, sizeof(*is_read), "the list of tensors", err);
    *spare = (struct gi_spare_tensors){0};
    if (!is_read) {
        return false;
    }
    mark_all(plan, is_read);
    for (size_t i = 0; i < n; i++) {
        if (!is_read[i]) {
            count(plan, gi_gguf_tensor_at(plan->gguf, i)->name, is_read, spare);
        }
    }
    free(is_read);
    return spare->of_weight.size == 0 ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "%s: \"%s\" does not know the tensor %.*s, which changes a matrix that it "
                        "uses: results would be wrong",
                        gi_gguf_path(plan->gguf), plan->family->name, (int)spare->of_weight.size,
                        spare->of_weight.data);
}

void gi_spare_tensors_say(const struct gi_model_plan *plan, const struct gi_spare_tensors *spare,
                          const struct gi_log *log)
{
    const char *path = gi_gguf_path(plan->gguf);
    if (spare->n_vision > 0 || spare->n_audio > 0) {
        gi_log_write(log, GLINFER_LOG_INFO,
                     "%s: %u tensors of vision and %u of audio are left alone, only text is read",
                     path, spare->n_vision, spare->n_audio);
    }
    if (spare->n_next > 0) {
        gi_log_write(log, GLINFER_LOG_INFO,
                     "%s: tensors of layers that predict further tokens are left alone, %u in all",
                     path, spare->n_next);
    }
    if (spare->n_other > 0) {
        gi_log_write(log, GLINFER_LOG_WARN,
                     "%s: \"%s\" does not know %u of its tensors, %.*s is the first: they are left "
                     "alone, and the model may have been made to compute something else",
                     path, plan->family->name, spare->n_other, (int)spare->other.size,
                     spare->other.data);
    }
}
