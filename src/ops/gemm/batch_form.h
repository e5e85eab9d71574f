// Chooses the form of a device's kernels for prompt batches (enum gi_batch_form).
#pragma once

#include "gpu/device/gpu.h"
#include "gpu/device/kernel_shape.h"

// Returns the form in GLINFER_BATCH if the device supports it, else the GPU's form
// (gi_gpu_batch_form).
enum gi_batch_form gi_batch_form(const struct gi_gpu *gpu);

// Returns true if products use tiles in shared memory: in the split form, and in the lane form of a
// class that defines a tile, unless GLINFER_BATCH asks for the lane form.
bool gi_batch_has_tiles(const struct gi_gpu *gpu);

// Returns true if tuning may choose the form with gi_gpu_set_batch_form: on small GPUs that have
// enough registers for the split form, if GLINFER_BATCH is not set.
bool gi_batch_is_open(const struct gi_gpu *gpu);

// Returns the largest number of tokens for which a separate recording for small batches is faster.
// Its row ranges have room for that many rows, by which ops choose their kernels.
uint32_t gi_batch_small_tokens(const struct gi_gpu *gpu);
// Kernels are chosen by the room for tokens. So there are lists for small batches, for short ones,
// which have at most GI_SHORT_BATCH tokens, for a middle size and for the largest.
enum { GI_BATCH_SIZES = 3, GI_SHORT_BATCH = 256 };
// Returns the maximum tokens of batches of a size, from 0, the small ones, on; 0: the device needs
// no such size.
uint32_t gi_batch_most_tokens(const struct gi_gpu *gpu, uint32_t size);
