// Device memory in pages of 2 MiB that GL can import (EXT_memory_object_fd). NVIDIA's GL maps its
// own buffers in small pages: a step that reads more than about 2 GiB then waits for the
// translation of addresses (an H200 read 4.5 GB at 2.0 TB/s instead of 3.5). What the driver's own
// libcuda allocates (cuMemCreate) lies in large pages. The library is looked for when it is needed,
// without a header, a link or a CUDA context, and nothing is lost without it.
#pragma once

#include "base/error.h"

#include <stdint.h>

enum { GI_UUID_SIZE = 16 }; // bytes, as GL_DEVICE_UUID_EXT and cuDeviceGetUuid give them

struct gi_cuda_pages;

// Loads the library. Fails with UNSUPPORTED (there is none, or an old one) and NO_MEMORY.
struct gi_cuda_pages *gi_cuda_pages_open(struct glinfer_error *err);
// Chooses the device of that UUID, once, before anything is exported. Fails with UNSUPPORTED and
// the reason.
bool gi_cuda_pages_choose(struct gi_cuda_pages *pages, const uint8_t uuid[GI_UUID_SIZE],
                          struct glinfer_error *err);
// Accepts NULL. Exported memory lives on.
void gi_cuda_pages_close(struct gi_cuda_pages *pages);

// Allocates size bytes, rounded up to whole pages (*allocated), and returns a descriptor that holds
// them, which the caller closes or gives to GL. Returns -1 with NO_MEMORY or DRIVER.
int gi_cuda_pages_export(struct gi_cuda_pages *pages, uint64_t size, uint64_t *allocated,
                         struct glinfer_error *err);
