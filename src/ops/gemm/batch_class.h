// Which form the kernels of a prompt batch take on a device.
#ifndef GI_OPS_BATCH_CLASS_H
#define GI_OPS_BATCH_CLASS_H

#include "gpu/device/gpu.h"
#include "gpu/device/kernel_shape.h"

// The form for the device's class. GLINFER_BATCH overrides it where the device can.
enum gi_batch_form gi_batch_form(const struct gi_gpu *gpu);

// Whether the class alone does not settle the form: on small GPUs that have the registers for the split form,
// as long as GLINFER_BATCH says nothing. gi_gpu_set_batch_form then chooses.
bool gi_batch_is_open(const struct gi_gpu *gpu);

// A batch of at most so many tokens is faster in a recording of its own, in which the ranges of its rows
// are cut to as many: ops choose their kernels by that. 0: no size is.
uint32_t gi_batch_few_tokens(const struct gi_gpu *gpu);

#endif
