#include "engine/model/adapter/plan_adapters.h"

#include "base/round.h"
#include "engine/model/plan/weight_layout.h"

#include <stdio.h>
#include <string.h>

// Fails unless a pair fits its tensor.
static void check_shape(struct gi_model_plan *plan, const struct gi_adapter *adapter,
                        const struct gi_adapter_pair *pair, const struct gi_gguf_tensor *tensor)
{
    const uint64_t n_cols = pair->a->dims[0], n_rows = pair->b->dims[1];
    if ((n_cols != tensor->dims[0] || n_rows != tensor->dims[1]) && !plan->failure.status) {
        gi_error_set(&plan->failure, GLINFER_STATUS_BAD_FILE,
                     "%s: the adapter is made for another model: its %.*s has %llu columns and "
                     "%llu rows, that of %s %llu and %llu",
                     gi_gguf_path(adapter->gguf), (int)pair->base.size, pair->base.data,
                     (unsigned long long)n_cols, (unsigned long long)n_rows,
                     gi_gguf_path(plan->gguf), (unsigned long long)tensor->dims[0],
                     (unsigned long long)tensor->dims[1]);
    }
}

uint32_t gi_plan_adapter_rank(struct gi_model_plan *plan, const struct gi_plan_weight *weight)
{
    struct gi_adapter_set *set = plan->adapters;
    bool is_adapted = false;
    for (uint32_t i = 0; set && weight->can_adapt && i < set->n; i++) {
        for (uint32_t j = 0; j < weight->n_sources; j++) {
            const struct gi_gguf_tensor *tensor = weight->sources[j].tensor;
            struct gi_adapter_pair *pair = gi_adapter_find(&set->adapters[i], tensor->name);
            if (pair) {
                check_shape(plan, &set->adapters[i], pair, tensor);
                pair->is_used = is_adapted = true;
            }
        }
    }
    return is_adapted ? set->rank : 0;
}

// Fails unless the adapter says that it is made for the model's architecture.
static void check_architecture(struct gi_model_plan *plan, const struct gi_adapter *adapter)
{
    struct gi_gguf_string own, base;
    if (plan->failure.status ||
        !gi_gguf_get_string(plan->gguf, "general.architecture", &base, &plan->failure) ||
        !gi_gguf_get_string(adapter->gguf, "general.architecture", &own, &plan->failure)) {
        return;
    }
    if (own.size != base.size || memcmp(own.data, base.data, own.size) != 0) {
        gi_error_set(&plan->failure, GLINFER_STATUS_BAD_FILE,
                     "%s: the adapter is made for models of \"%.*s\", and %s is one of \"%.*s\"",
                     gi_gguf_path(adapter->gguf), (int)own.size, own.data ? own.data : "",
                     gi_gguf_path(plan->gguf), (int)base.size, base.data);
    }
}

void gi_plan_adapters_begin(struct gi_model_plan *plan)
{
    for (uint32_t i = 0; plan->adapters && i < plan->adapters->n; i++) {
        check_architecture(plan, &plan->adapters->adapters[i]);
    }
}

// Fails if a pair of an adapter is not used.
static void check_used(struct gi_model_plan *plan, const struct gi_adapter *adapter)
{
    for (size_t i = 0; i < adapter->n_pairs && !plan->failure.status; i++) {
        const struct gi_adapter_pair *pair = &adapter->pairs[i];
        bool is_there = false;
        for (size_t j = 0; !pair->is_used && !is_there && j < gi_gguf_tensor_count(plan->gguf);
             j++) {
            const struct gi_gguf_string name = gi_gguf_tensor_at(plan->gguf, j)->name;
            is_there =
                name.size == pair->base.size && memcmp(name.data, pair->base.data, name.size) == 0;
        }
        if (!pair->is_used) {
            gi_error_set(
                &plan->failure, is_there ? GLINFER_STATUS_UNSUPPORTED : GLINFER_STATUS_BAD_FILE,
                is_there ? "%s: the adapter changes %.*s; adapters may change the matrices "
                           "of attention and of dense networks only"
                         : "%s: the adapter is made for another model: it changes %.*s, "
                           "which the model lacks",
                gi_gguf_path(adapter->gguf), (int)pair->base.size, pair->base.data);
        }
    }
}

void gi_plan_adapters(struct gi_model_plan *plan)
{
    const struct gi_adapter_set *set = plan->adapters;
    const uint32_t n_base = plan->n_weights;
    for (uint32_t i = 0; set && i < set->n; i++) {
        check_used(plan, &set->adapters[i]);
    }
    for (uint32_t i = 0; i < n_base && !plan->failure.status; i++) {
        const struct gi_plan_weight *base = &plan->weights[i];
        if (base->weight.adapter_rank > 0) {
            struct gi_plan_weight *weight = &plan->weights[plan->n_weights++];
            char name[sizeof(base->name)];
            memcpy(name, base->name, sizeof(name));
            snprintf(weight->name, sizeof(weight->name), "%.48s.adapter", name);
            weight->layer = base->layer;
            weight->adapts = base;
            gi_weight_layout_adapter(plan, weight);
            plan->hparams.adapter_rank = set->rank;
            plan->hparams.adapter_rows =
                gi_max_u32(plan->hparams.adapter_rows, weight->weight.n_rows);
        }
    }
}
