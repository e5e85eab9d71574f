// Plans the weights outside the layers: what makes rows of a model's input, and its output.
#pragma once

#include "engine/model/plan/model_plan.h"

// Appends them to plan->weights in the order that struct gi_model_plan gives, and sets is_tied. The
// plan fails as gi_plan_find_source does.
void gi_plan_ends(struct gi_model_plan *plan);
