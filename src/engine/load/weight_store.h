// The weights of a model on the GPU, in one copy: repacked from the file in chunks of a few MiB,
// the pages of the file dropped behind.
#ifndef GI_ENGINE_WEIGHT_STORE_H
#define GI_ENGINE_WEIGHT_STORE_H

#include "engine/load/arena.h"
#include "engine/load/model_plan.h"

struct gi_weight_store {
    struct gi_arena arena;
    struct gi_weight *weights; // in the order of the plan
    char (*names)[64];         // what weights[i].name points to
    uint32_t n_weights;
};

// Fails with NO_MEMORY, CANCELLED, DRIVER, GPU_LOST. progress counts bytes of the file.
bool gi_weight_store_load(struct gi_weight_store *store, struct gi_gpu *gpu,
                          const struct gi_model_plan *plan, glinfer_progress_fn progress,
                          void *user, struct glinfer_error *err);
void gi_weight_store_finish(struct gi_weight_store *store, struct gi_gpu *gpu);

// Reads a vector tensor of the file as n floats.
void gi_read_vector(const struct gi_gguf_tensor *tensor, size_t n, float *out);

#endif
