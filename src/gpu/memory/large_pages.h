// Gives buffers memory in large pages, on drivers that map their own in small ones: it is allocated
// by platform/cuda_large_pages.h and imported into GL. Internal to gpu/.
#ifndef GI_GPU_LARGE_PAGES_H
#define GI_GPU_LARGE_PAGES_H

#include "gpu/memory/buffer.h"

// Gives memory to a buffer that has a name and a size and no storage. Returns false if there is
// no memory, without an error and with nothing allocated, so that the driver can allocate it. Logs
// the reason once per gpu.
bool gi_large_pages_allocate(struct gi_gpu *gpu, struct gi_buffer *buffer);

#endif
