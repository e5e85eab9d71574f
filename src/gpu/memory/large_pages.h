// Gives buffers memory in large pages, on drivers that map their own in small ones: platform/cuda_large_pages.h allocates
// it, and GL imports it. Internal to gpu/.
#ifndef GI_GPU_LARGE_PAGES_H
#define GI_GPU_LARGE_PAGES_H

#include "gpu/memory/buffer.h"

// Gives memory in large pages to a buffer that has a name and a size and no storage. Returns false where there is none
// to be had, with nothing left behind and no error: the driver's own way is open. Logs why, once a gpu.
bool gi_large_pages_allocate(struct gi_gpu *gpu, struct gi_buffer *buffer);

#endif
