// Cuts a weight matrix into parts and lays each out.
#pragma once

#include "engine/model/plan/model_plan.h"

// Fills weight->weight from the sources, which are checked, and adds its bytes to the plan's. The
// plan fails with UNSUPPORTED if it takes more than GI_MAX_PARTS. Does nothing after a failure.
void gi_weight_layout(struct gi_model_plan *plan, struct gi_plan_weight *weight);
// Fills weight->weight of a matrix A of adapters: a row in f16 for each column of theirs, for each
// source of the weight that it adapts.
void gi_weight_layout_adapter(struct gi_model_plan *plan, struct gi_plan_weight *weight);
