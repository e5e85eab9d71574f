// Lets memory go that a driver would keep.
#ifndef GI_GPU_UNBIND_H
#define GI_GPU_UNBIND_H

#include "gpu/device/gpu.h"

// Has the driver let go of the buffers of the last dispatches, whose memory it would keep until the
// next one although they are finished: runs a program that does nothing, on other buffers.
void gi_gpu_unbind(struct gi_gpu *gpu);

#endif
