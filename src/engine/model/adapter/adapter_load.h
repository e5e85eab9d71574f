// Loads the matrices of adapters: computes them in f32 from the files, and writes them as halves.
#pragma once

#include "engine/model/plan/model_plan.h"
#include "engine/model/weight_sample.h"

// Points the weights, copies of those of the plan in its order, to their matrices A.
void gi_adapter_link(const struct gi_model_plan *plan, struct gi_weight *weights);
// Writes a matrix A, whose only part has its ranges on the GPU, and keeps rows of some for the
// self-test. Fails with BAD_FILE if a value does not fit a half, IO, NO_MEMORY, GPU_LOST.
bool gi_adapter_load_a(struct gi_gpu *gpu, const struct gi_model_plan *plan,
                       const struct gi_plan_weight *weight, const struct gi_weight_part *part,
                       struct gi_weight_samples *samples, struct glinfer_error *err);
// Writes the rows of matrices B, times alpha / rank, that belong to a part of a weight; does
// nothing for a weight without adapters. Fails as gi_adapter_load_a does.
bool gi_adapter_load_b(struct gi_gpu *gpu, const struct gi_model_plan *plan,
                       const struct gi_plan_weight *weight, const struct gi_weight_part *part,
                       struct glinfer_error *err);
