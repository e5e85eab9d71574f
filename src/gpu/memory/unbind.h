// Lets memory go that a driver would keep.
#pragma once

#include "gpu/device/gpu.h"

// Releases the driver's references to the buffers of recent dispatches by dispatching a no-op with
// other bindings; otherwise the driver keeps their memory until the next dispatch.
void gi_gpu_unbind(struct gi_gpu *gpu);
