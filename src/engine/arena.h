// Many ranges in few buffers: first all sizes are added, then the buffers are allocated at once. No range
// straddles two buffers and no buffer is larger than max_size, unless one range alone is.
#ifndef GI_ENGINE_ARENA_H
#define GI_ENGINE_ARENA_H

#include "gpu/buffer.h"

struct gi_arena_slot {
    uint32_t buffer;
    uint64_t offset, size;
};

struct gi_arena {
    uint64_t max_size;         // bytes of a buffer
    uint32_t alignment;        // of a slot
    struct gi_buffer *buffers; // n_buffers; their sizes count up until they are allocated
    uint32_t n_buffers, capacity;
    uint64_t total; // bytes
};

// The alignment that suits storage and uniform ranges of a device, and 16-byte loads.
uint32_t gi_arena_alignment(const struct gi_limits *limits);
// The largest range that is made on a device: what it binds, and no more than half of the largest
// buffer (gi_buffer_init), because a part of a weight has two that lie in one.
uint64_t gi_arena_max_range(const struct gi_limits *limits);

void gi_arena_init(struct gi_arena *arena, uint64_t max_size, uint32_t alignment);
// Fails with NO_MEMORY.
bool gi_arena_add(struct gi_arena *arena, uint64_t size, struct gi_arena_slot *slot,
                  struct glinfer_error *err);
// Allocates what was added; label as in gi_buffer_init.
bool gi_arena_allocate(struct gi_arena *arena, struct gi_gpu *gpu, const char *label,
                       struct glinfer_error *err);
struct gi_range gi_arena_range(const struct gi_arena *arena, const struct gi_arena_slot *slot);
void gi_arena_finish(struct gi_arena *arena, struct gi_gpu *gpu);

#endif
