// The weights of a model on the GPU, in one copy: read from the file and repacked in chunks of a
// few MiB.
#pragma once

#include "engine/model/arena.h"
#include "engine/model/plan/model_plan.h"
#include "engine/model/weight_sample.h"

struct gi_weight_store {
    struct gi_arena arena;
    struct gi_weight *weights; // in the order of the plan
    char (*names)[64];         // names that weights[i].name points to
    uint32_t n_weights;
    struct gi_weight_samples samples; // for the self-test
};

// Fails with NO_MEMORY, IO, CANCELLED, DRIVER, GPU_LOST. progress counts bytes of the file.
bool gi_weight_store_load(struct gi_weight_store *store, struct gi_gpu *gpu,
                          const struct gi_model_plan *plan, glinfer_progress_fn progress,
                          void *user, struct glinfer_error *err);
void gi_weight_store_finish(struct gi_weight_store *store, struct gi_gpu *gpu);
