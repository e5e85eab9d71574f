// Many ranges in few buffers: first all sizes are added, then the buffers are allocated at once. No range
// straddles two buffers and no buffer is larger than max_size, unless one range alone is.
#ifndef GI_ENGINE_ARENA_H
#define GI_ENGINE_ARENA_H

#include "gpu/memory/buffer.h"

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
// The largest range that is made on a device: what it binds, and no more than 512 MiB, because a part of a weight has
// two that lie in one buffer.
uint64_t gi_arena_max_range(const struct gi_limits *limits);

// Bytes of each buffer for total bytes: 512 MiB, or, as far as a device binds a buffer whole, the multiple of it that
// leaves no more than n_wanted buffers; n_wanted 0: any number will do.
uint64_t gi_arena_buffer_size(const struct gi_limits *limits, uint64_t total, uint32_t n_wanted);

void gi_arena_init(struct gi_arena *arena, uint64_t max_size, uint32_t alignment);
// Fails with NO_MEMORY.
bool gi_arena_add(struct gi_arena *arena, uint64_t size, struct gi_arena_slot *slot,
                  struct glinfer_error *err);
// Allocates what was added; label as in gi_buffer_init.
bool gi_arena_allocate(struct gi_arena *arena, struct gi_gpu *gpu, const char *label,
                       struct glinfer_error *err);

// Ranges that are all known, to be placed at once.
struct gi_arena_request {
    const uint64_t *sizes; // bytes, n of them
    const uint32_t *kinds; // n of them, below n_kind; NULL: ranges differ in nothing
    uint32_t n, n_kind;
    // Buffers that are not too many where a chain of steps may be one dispatch: that has all of them bound.
    uint32_t n_wanted;
    const char *label;
};
// What they take, padding with it.
uint64_t gi_arena_total(const struct gi_arena_request *request, const struct gi_gpu *gpu);
// Initialises arena, adds the ranges and allocates them, in buffers of 512 MiB where there is no memory for larger
// ones. Where buffers had better be few those of a kind lie in one, as far as they fit: a stage that all of them have
// in common knows it then. slots has n. On failure, as gi_buffer_init fails, there is something to finish.
bool gi_arena_place(struct gi_arena *arena, struct gi_gpu *gpu,
                    const struct gi_arena_request *request, struct gi_arena_slot *slots,
                    struct glinfer_error *err);

struct gi_range gi_arena_range(const struct gi_arena *arena, const struct gi_arena_slot *slot);
void gi_arena_finish(struct gi_arena *arena, struct gi_gpu *gpu);

#endif
