// The form that the kernels of a prompt batch take on a device.
#ifndef GI_OPS_BATCH_FORM_H
#define GI_OPS_BATCH_FORM_H

#include "gpu/device/gpu.h"
#include "gpu/device/kernel_shape.h"

// Returns what GLINFER_BATCH asks for if the device has it, else the form of the gpu
// (gi_gpu_batch_form).
enum gi_batch_form gi_batch_form(const struct gi_gpu *gpu);

// True if products go by tiles in shared memory: in the split form, and in the lane form of a class
// that has a tile of its own, unless GLINFER_BATCH asks for the form.
bool gi_batch_has_tiles(const struct gi_gpu *gpu);

// True if measurement may choose the form by gi_gpu_set_batch_form: on small GPUs that have the
// registers for the split form, without GLINFER_BATCH.
bool gi_batch_is_open(const struct gi_gpu *gpu);

// Returns the tokens up to which a batch is faster in a recording of its own, in which the ranges
// of its rows are cut to as many: ops choose their kernels by that.
uint32_t gi_batch_small_tokens(const struct gi_gpu *gpu);

#endif
