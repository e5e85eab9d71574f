// Cuts a weight matrix into parts and lays each out.
#ifndef GI_ENGINE_WEIGHT_LAYOUT_H
#define GI_ENGINE_WEIGHT_LAYOUT_H

#include "engine/load/model_plan.h"

// Fills weight->weight from the sources, which are checked, and adds its bytes to the plan's. Fails
// with UNSUPPORTED if it takes more than GI_MAX_PARTS.
bool gi_weight_layout(struct gi_model_plan *plan, struct gi_plan_weight *weight,
                      const struct gi_plan_limits *limits, struct glinfer_error *err);

#endif
