// Merges an adapter into the weights of a model while they are read: rows are dequantised, the
// product of the adapter's matrices is added, and the sum is quantised to the type of the file.
#pragma once

#include "engine/model/adapter/adapter_set.h"

// Moves the only adapter of a set into the model, whose tensors are read with it from now on, by
// one thread at a time: W + scale * alpha / rank * B A. The set is then empty. Fails, and leaves
// both as they are, with INVALID_ARGUMENT (not one adapter), BAD_FILE (made for another model),
// UNSUPPORTED (a tensor that may not be changed or whose type cannot be written: names it),
// NO_MEMORY.
bool gi_adapter_merge(struct gi_adapter_set *set, struct gi_gguf *model, float scale,
                      struct glinfer_error *err);
