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

// Reads a vector tensor of the file, or the first n of its elements, as floats. Fails with IO,
// NO_MEMORY.
bool gi_read_vector(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor, size_t n,
                    float *out, struct glinfer_error *err);
// Reads n rows of a convolution from `first` on. The taps of a column are neighbours in the file;
// in out, (n, n_tap, n_col), the columns of a tap are, with zeros after the last.
bool gi_read_taps(const struct gi_gguf *gguf, const struct gi_plan_source *source, uint32_t first,
                  size_t n, uint8_t *out, struct glinfer_error *err);
