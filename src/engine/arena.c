#include "engine/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint32_t gi_arena_alignment(const struct gi_limits *limits)
{
    uint32_t alignment = 64;
    if (limits->storage_alignment > alignment) {
        alignment = limits->storage_alignment;
    }
    return limits->uniform_alignment > alignment ? limits->uniform_alignment : alignment;
}

uint64_t gi_arena_max_range(const struct gi_limits *limits)
{
    const uint64_t half_buffer = 512ull << 20;
    return limits->max_storage_block_size < half_buffer ? limits->max_storage_block_size
                                                        : half_buffer;
}

void gi_arena_init(struct gi_arena *arena, uint64_t max_size, uint32_t alignment)
{
    memset(arena, 0, sizeof(*arena));
    arena->max_size = max_size;
    arena->alignment = alignment;
}

static bool open_buffer(struct gi_arena *arena, struct glinfer_error *err)
{
    if (arena->n_buffers == arena->capacity) {
        const uint32_t capacity = arena->capacity ? 2 * arena->capacity : 4;
        struct gi_buffer *grown =
            realloc(arena->buffers, (size_t)capacity * sizeof(arena->buffers[0]));
        if (!grown) {
            return gi_error_no_memory(err, (size_t)capacity * sizeof(arena->buffers[0]),
                                      "the list of buffers");
        }
        arena->buffers = grown;
        arena->capacity = capacity;
    }
    assert(arena->buffers);
    memset(&arena->buffers[arena->n_buffers++], 0, sizeof(arena->buffers[0]));
    return true;
}

bool gi_arena_add(struct gi_arena *arena, uint64_t size, struct gi_arena_slot *slot,
                  struct glinfer_error *err)
{
    const uint64_t padded = (size + arena->alignment - 1) / arena->alignment * arena->alignment;
    struct gi_buffer *last = arena->n_buffers ? &arena->buffers[arena->n_buffers - 1] : NULL;
    if (!last || (last->size > 0 && last->size + padded > arena->max_size)) {
        if (!open_buffer(arena, err)) {
            return false;
        }
        last = &arena->buffers[arena->n_buffers - 1];
    }
    *slot = (struct gi_arena_slot){arena->n_buffers - 1, last->size, size};
    last->size += padded;
    arena->total += padded;
    return true;
}

bool gi_arena_allocate(struct gi_arena *arena, struct gi_gpu *gpu, const char *label,
                       struct glinfer_error *err)
{
    for (uint32_t i = 0; i < arena->n_buffers; i++) {
        const uint64_t size = arena->buffers[i].size;
        if (!gi_buffer_init_paged(&arena->buffers[i], gpu, size, arena->total, label, err)) {
            return false;
        }
    }
    return true;
}

struct gi_range gi_arena_range(const struct gi_arena *arena, const struct gi_arena_slot *slot)
{
    return (struct gi_range){&arena->buffers[slot->buffer], slot->offset, slot->size};
}

void gi_arena_finish(struct gi_arena *arena, struct gi_gpu *gpu)
{
    for (uint32_t i = 0; i < arena->n_buffers; i++) {
        if (arena->buffers[i].name) {
            gi_buffer_finish(&arena->buffers[i], gpu);
        }
    }
    free(arena->buffers);
    memset(arena, 0, sizeof(*arena));
}
