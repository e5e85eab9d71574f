// Plans the matrices of adapters next to those of the model: checks that the adapters are made for
// it, and makes room for them.
#pragma once

#include "engine/model/plan/model_plan.h"

// Begins the plan. It fails with BAD_FILE if an adapter is of another architecture.
void gi_plan_adapters_begin(struct gi_model_plan *plan);
// Returns the rank of the adapters if one of them changes the weight, else 0. The plan fails with
// BAD_FILE if matrices are of the wrong shape; the message names both.
uint32_t gi_plan_adapter_rank(struct gi_model_plan *plan, const struct gi_plan_weight *weight);

// Appends the matrices A to the planned weights. The plan fails with BAD_FILE if the adapters
// change a tensor that the model lacks, UNSUPPORTED if they change one that cannot be adapted.
void gi_plan_adapters(struct gi_model_plan *plan);
