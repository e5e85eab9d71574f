// Places many ranges in few buffers, which are allocated at once. No range straddles two buffers,
// and no buffer is larger than was chosen unless one range alone is.
#pragma once

#include "gpu/memory/buffer.h"

struct gi_arena {
    struct gi_buffer *buffers; // n_buffers
    uint32_t n_buffers;
    size_t capacity;
};

// Returns the alignment that suits storage and uniform ranges of a device, and 16-byte loads.
uint32_t gi_arena_alignment(const struct gi_limits *limits);
// Returns the largest range that is made on a device: what it binds, and at most 512 MiB, because a
// part of a weight has two ranges that lie in one buffer.
uint64_t gi_arena_max_range(const struct gi_limits *limits);

// Returns the bytes of each buffer for total bytes: 512 MiB or, as far as a device binds a buffer
// whole, the multiple of it that leaves at most n_wanted buffers; with n_wanted 0 any number will
// do.
uint64_t gi_arena_buffer_size(const struct gi_limits *limits, uint64_t total, uint32_t n_wanted);

// Lists ranges to be placed at once.
struct gi_arena_request {
    const uint64_t *sizes; // bytes, n of them
    const uint32_t *kinds; // n of them, below n_kind; NULL: all are of one kind
    uint32_t n, n_kind;
    uint32_t n_wanted; // the most buffers that suit where few are wanted
    const char *label;
};
// Returns the bytes that all ranges take, with their padding.
uint64_t gi_arena_total(const struct gi_arena_request *request, const struct gi_gpu *gpu);
// Initialises arena, adds the ranges and allocates them, in buffers of 512 MiB if there is no
// memory for larger ones. If few buffers are wanted (gi_gpu_joins_ranges), ranges of one kind
// share one as far as they fit. ranges has n. Fails as gi_buffer_init does; the arena must then be
// finished.
bool gi_arena_place(struct gi_arena *arena, struct gi_gpu *gpu,
                    const struct gi_arena_request *request, struct gi_range *ranges,
                    struct glinfer_error *err);

void gi_arena_finish(struct gi_arena *arena, struct gi_gpu *gpu);
