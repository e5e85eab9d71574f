#include "engine/model/adapter/plan_adapters.h"

#include "base/round.h"
#include "engine/model/plan/weight_layout.h"

#include <stdio.h>
#include <string.h>

uint32_t gi_plan_adapter_rank(struct gi_model_plan *plan, const struct gi_plan_weight *weight)
{
    struct gi_adapter_set *set = plan->adapters;
    bool is_adapted = false;
    for (uint32_t i = 0; set && weight->can_adapt && i < set->n; i++) {
        for (uint32_t j = 0; j < weight->n_sources; j++) {
            const struct gi_gguf_tensor *tensor = weight->sources[j].tensor;
            struct gi_adapter_pair *pair = gi_adapter_find(&set->adapters[i], tensor->name);
            if (pair) {
                pair->is_used = is_adapted = true;
                if (!plan->failure.status) {
                    gi_adapter_check_shape(&set->adapters[i], pair, plan->gguf, tensor,
                                           &plan->failure);
                }
            }
        }
    }
    return is_adapted ? set->rank : 0;
}

void gi_plan_adapters_begin(struct gi_model_plan *plan)
{
    for (uint32_t i = 0; plan->adapters && i < plan->adapters->n && !plan->failure.status; i++) {
        gi_adapter_check_model(&plan->adapters->adapters[i], plan->gguf, &plan->failure);
    }
}

// Fails if a pair of an adapter is not used.
static void check_used(struct gi_model_plan *plan, const struct gi_adapter *adapter)
{
    for (size_t i = 0; i < adapter->n_pairs && !plan->failure.status; i++) {
        if (!adapter->pairs[i].is_used) {
            gi_adapter_refuse(adapter, &adapter->pairs[i], plan->gguf, &plan->failure);
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
        if (base->weight.adapter_rank > 0 && !base->same) {
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
