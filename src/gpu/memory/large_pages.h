// Gives buffers memory in large pages, on drivers that map their own in small ones: it is allocated
// by platform/cuda_large_pages.h and imported into GL. Internal to gpu/, but for
// gi_large_pages_distrust.
#pragma once

#include "gpu/memory/buffer.h"

// Gives memory to a buffer that has a name and a size and no storage. Returns false if there is
// no memory, or if it does not hold what is written, without an error and with nothing allocated,
// so that the driver can allocate it; the buffer may have another name then. Logs the reason once
// per gpu.
bool gi_large_pages_allocate(struct gi_gpu *gpu, struct gi_buffer *buffer);
// Stops the use of large pages after a copy into a buffer was lost, and logs why. Returns true if
// they may be the reason, so that the work is worth a repetition in new buffers: some buffer was in
// large pages and the GPU still works.
bool gi_large_pages_distrust(struct gi_gpu *gpu, const char *why);
