// Buffers on the GPU. Hot buffers are immutable storage where EXT_buffer_storage is there, are
// never mapped and never read: what goes in or out is copied through small staging buffers, because
// a driver may move a buffer that was mapped once to host memory for good.
#pragma once

#include "gpu/device/gpu.h"

// Most bytes of a buffer.
#define GI_MAX_BUFFER_SIZE (UINT64_C(1) << 31)

// Writing to a buffer changes the GL object, not this struct: ranges have it const.
struct gi_buffer {
    uint32_t name;   // GL name, 0: none
    uint32_t memory; // GL's memory object below it; 0: memory of the driver's own
    uint64_t size;   // bytes
};

// A part of a buffer as a kernel binds it. offset is a multiple of the storage alignment.
struct gi_range {
    const struct gi_buffer *buffer; // borrowed; NULL: nothing bound
    uint64_t offset, size;          // bytes
};

// Allocates size bytes (rounded up to 16), zeroed. label names it in driver messages and errors.
// Fails with NO_MEMORY (size and label) and UNSUPPORTED over GI_MAX_BUFFER_SIZE.
bool gi_buffer_init(struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t size, const char *label,
                    struct glinfer_error *err);
// Allocates a buffer in large pages if the device has them and `together`, the bytes of all buffers
// of the arena, reaches the minimum of the class or of GLINFER_PAGES; else as gi_buffer_init.
bool gi_buffer_init_paged(struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t size,
                          uint64_t together, const char *label, struct glinfer_error *err);
void gi_buffer_finish(struct gi_buffer *buffer, struct gi_gpu *gpu);

// Copies data into [offset, offset + size), ordered after what was submitted and visible to what is
// submitted later. Allocates nothing. offset and size are multiples of 4.
bool gi_buffer_write(const struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t offset,
                     const void *data, uint64_t size, struct glinfer_error *err);
// Copies size bytes from one buffer to another, ordered as an upload. Offsets and size are
// multiples of 4. A failure shows at the next gi_gpu_check.
void gi_buffer_copy(const struct gi_buffer *to, struct gi_gpu *gpu, uint64_t to_offset,
                    const struct gi_buffer *from, uint64_t from_offset, uint64_t size);
// Fetches [offset, offset + size) and waits for it: tests and tools only.
bool gi_buffer_read(const struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t offset, void *data,
                    uint64_t size, struct glinfer_error *err);
