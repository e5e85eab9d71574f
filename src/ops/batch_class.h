// Which form the kernels of a prompt batch take on a device.
#ifndef GI_OPS_BATCH_CLASS_H
#define GI_OPS_BATCH_CLASS_H

#include "gpu/gpu.h"

// True for a row of results an invocation, in private memory (llvmpipe), false for tiles in shared
// memory. GLINFER_BATCH=row|split in the environment overrides the device's class.
bool gi_batch_is_row(const struct gi_gpu *gpu);

#endif
