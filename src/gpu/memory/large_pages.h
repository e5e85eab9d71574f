// Buffers in large pages, on drivers that map their own in small ones (platform/paged_memory.h).
// Internal to gpu/.
#ifndef GI_GPU_LARGE_PAGES_H
#define GI_GPU_LARGE_PAGES_H

#include "gpu/memory/buffer.h"

// Gives buffer, which has a name and a size and no storage, memory in large pages. False where there
// is none to be had, with nothing left behind and no error: the ordinary way is open. Why is said to
// the log, once a gpu.
bool gi_large_pages_allocate(struct gi_gpu *gpu, struct gi_buffer *buffer);

#endif
