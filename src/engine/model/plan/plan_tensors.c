#include "engine/model/plan/plan_tensors.h"

#include "base/array.h"
#include "quant/quant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gi_plan_name(const struct gi_tower *tower, const char *pattern, uint32_t layer,
                  const char *suffix, char name[GI_PLAN_NAME_SIZE])
{
    const char *number = strstr(pattern, "%u"), *dot = *suffix ? "." : "";
    const char *prefix = tower->prefix ? tower->prefix : "";
    if (number) {
        snprintf(name, GI_PLAN_NAME_SIZE, "%s%.*s%u%s%s%s", prefix, (int)(number - pattern),
                 pattern, layer, number + 2, dot, suffix);
    } else {
        snprintf(name, GI_PLAN_NAME_SIZE, "%s%s%s%s", prefix, pattern, dot, suffix);
    }
}

static void check_type(struct gi_model_plan *plan, const struct gi_gguf_tensor *tensor)
{
    if (!plan->failure.status && !gi_quant_find(tensor->type->type)) {
        gi_error_set(&plan->failure, GLINFER_STATUS_UNSUPPORTED,
                     "%s: tensor %.*s is of type %s, which has no kernel; supported are %s",
                     gi_gguf_path(plan->gguf), (int)tensor->name.size, tensor->name.data,
                     tensor->type->name, gi_quant_names());
    }
}

bool gi_plan_has(const struct gi_model_plan *plan, const char *pattern, uint32_t layer,
                 const char *suffix)
{
    char name[GI_PLAN_NAME_SIZE];
    gi_plan_name(&plan->tower, pattern, layer, suffix, name);
    return gi_gguf_tensor_find(plan->gguf, name);
}

void gi_plan_check_shape(struct gi_model_plan *plan, const struct gi_gguf_tensor *tensor,
                         uint32_t n_cols, uint32_t n_rows, uint32_t n_matrix)
{
    const bool is_right = tensor->dims[0] == n_cols && tensor->dims[1] == n_rows &&
                          tensor->dims[2] == n_matrix && tensor->dims[3] == 1;
    if (!plan->failure.status && !is_right) {
        gi_error_set(&plan->failure, GLINFER_STATUS_BAD_FILE,
                     "%s: tensor %.*s has shape %llu x %llu x %llu x %llu, expected %u x %u x %u",
                     gi_gguf_path(plan->gguf), (int)tensor->name.size, tensor->name.data,
                     (unsigned long long)tensor->dims[0], (unsigned long long)tensor->dims[1],
                     (unsigned long long)tensor->dims[2], (unsigned long long)tensor->dims[3],
                     n_cols, n_rows, n_matrix);
    }
}

void gi_plan_require(struct gi_model_plan *plan, const char *pattern, uint32_t layer,
                     const char *suffix, uint32_t n_cols, uint32_t n_rows, uint32_t n_matrix,
                     const struct gi_gguf_tensor **out)
{
    char name[GI_PLAN_NAME_SIZE];
    gi_plan_name(&plan->tower, pattern, layer, suffix, name);
    *out = gi_gguf_tensor_find(plan->gguf, name);
    if (*out) {
        check_type(plan, *out);
        gi_plan_check_shape(plan, *out, n_cols, n_rows, n_matrix);
    } else if (!plan->failure.status) {
        gi_error_set(&plan->failure, GLINFER_STATUS_BAD_FILE, "%s: the tensor %s is missing",
                     gi_gguf_path(plan->gguf), name);
    }
}

// Finds the numbers that multiply the matrices of a tensor of NVFP4. Next to other types they are
// names that the family does not know.
static void find_factor(struct gi_model_plan *plan, const char *pattern, uint32_t layer,
                        uint32_t n_matrix, struct gi_plan_source *source)
{
    char name[GI_PLAN_NAME_SIZE];
    gi_plan_name(&plan->tower, pattern, layer, "scale", name);
    const struct gi_gguf_tensor *factor = gi_gguf_tensor_find(plan->gguf, name);
    if (plan->failure.status || !factor ||
        gi_quant_find(source->tensor->type->type)->factor_word == 0 ||
        plan->norms[(size_t)layer * GI_NORM_COUNT + GI_NORM_EXPERT_FACTOR] == factor) {
        return;
    }
    source->factor = factor;
    gi_plan_check_shape(plan, factor, n_matrix, 1, 1);
    if (!plan->failure.status && factor->type->type != GI_GGML_TYPE_F32) {
        gi_error_set(&plan->failure, GLINFER_STATUS_UNSUPPORTED,
                     "%s: %s is of type %s, expected f32", gi_gguf_path(plan->gguf), name,
                     factor->type->name);
    }
}

void gi_plan_find_source(struct gi_model_plan *plan, const char *pattern, uint32_t layer,
                         uint32_t n_cols, uint32_t n_rows, uint32_t n_matrix,
                         struct gi_plan_source *source)
{
    char name[GI_PLAN_NAME_SIZE];
    gi_plan_require(plan, pattern, layer, "weight", n_cols, n_rows, n_matrix, &source->tensor);
    find_factor(plan, pattern, layer, n_matrix, source);
    gi_plan_name(&plan->tower, pattern, layer, "bias", name);
    source->n_rows = n_rows;
    source->bias = gi_gguf_tensor_find(plan->gguf, name);
    if (source->bias) {
        check_type(plan, source->bias);
        gi_plan_check_shape(plan, source->bias, n_rows, n_matrix, 1);
    }
}

bool gi_plan_refuse_tensor(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor,
                           struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: %.*s has values that are infinite or no numbers: the file is damaged, "
                        "or was made of weights that are",
                        gi_gguf_path(gguf), (int)tensor->name.size, tensor->name.data);
}

bool gi_read_vector(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor, size_t n,
                    float *out, struct glinfer_error *err)
{
    const struct gi_quant *quant = gi_quant_find(tensor->type->type);
    void *data = gi_array_zeroed(tensor->size, 1, "a vector of the model", err);
    bool ok = data && gi_gguf_tensor_read(gguf, tensor, 0, tensor->size, data, err);
    if (ok) {
        gi_quant_dequantize_row(quant, data, n, out);
        ok = gi_quant_is_finite(quant, data, n) || gi_plan_refuse_tensor(gguf, tensor, err);
    }
    free(data);
    return ok;
}
