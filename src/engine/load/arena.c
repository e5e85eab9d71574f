#include "engine/load/arena.h"

#include "base/array.h"
#include "base/round.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_SIZE (UINT64_C(512) << 20)

uint32_t gi_arena_alignment(const struct gi_limits *limits)
{
    const uint32_t storage = limits->storage_alignment > 64 ? limits->storage_alignment : 64;
    return limits->uniform_alignment > storage ? limits->uniform_alignment : storage;
}

uint64_t gi_arena_max_range(const struct gi_limits *limits)
{
    return limits->max_storage_block_size < USUAL_SIZE ? limits->max_storage_block_size
                                                       : USUAL_SIZE;
}

uint64_t gi_arena_buffer_size(const struct gi_limits *limits, uint64_t total, uint32_t n_wanted)
{
    const uint64_t alignment = gi_arena_alignment(limits);
    const uint64_t bound = limits->max_storage_block_size / alignment * alignment;
    const uint64_t most = bound < GI_MAX_BUFFER_SIZE ? bound : GI_MAX_BUFFER_SIZE;
    const uint64_t share = n_wanted > 0 ? (total + n_wanted - 1) / n_wanted : 0;
    const uint64_t size = share > USUAL_SIZE ? gi_round_up(share, USUAL_SIZE) : USUAL_SIZE;
    return most < USUAL_SIZE ? USUAL_SIZE : size < most ? size : most;
}

void gi_arena_init(struct gi_arena *arena, uint64_t max_size, uint32_t alignment)
{
    *arena = (struct gi_arena){.max_size = max_size, .alignment = alignment};
}

static bool open_buffer(struct gi_arena *arena, struct glinfer_error *err)
{
    if (!gi_array_grow(&arena->buffers, &arena->capacity, arena->n_buffers + 1,
                       sizeof(arena->buffers[0]), "the list of buffers", err)) {
        return false;
    }
    memset(&arena->buffers[arena->n_buffers++], 0, sizeof(arena->buffers[0]));
    return true;
}

bool gi_arena_add(struct gi_arena *arena, uint64_t size, struct gi_arena_slot *slot,
                  struct glinfer_error *err)
{
    const uint64_t padded = gi_round_up(size, arena->alignment);
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

uint64_t gi_arena_total(const struct gi_arena_request *request, const struct gi_gpu *gpu)
{
    const uint32_t alignment = gi_arena_alignment(gi_gpu_limits(gpu));
    uint64_t total = 0;
    for (uint32_t i = 0; i < request->n; i++) {
        total += gi_round_up(request->sizes[i], alignment);
    }
    return total;
}

static bool add_in_order(struct gi_arena *arena, const struct gi_arena_request *request,
                         struct gi_arena_slot *slots, struct glinfer_error *err)
{
    for (uint32_t i = 0; i < request->n; i++) {
        if (!gi_arena_add(arena, request->sizes[i], &slots[i], err)) {
            return false;
        }
    }
    return true;
}

// Chooses the first buffer with room for size bytes, else opens a new one.
static bool choose_buffer(struct gi_arena *arena, uint64_t size, uint32_t *buffer,
                          struct glinfer_error *err)
{
    uint32_t i = 0;
    while (i < arena->n_buffers && arena->buffers[i].size + size > arena->max_size) {
        i++;
    }
    *buffer = i;
    return i < arena->n_buffers || open_buffer(arena, err);
}

static bool add_kind(struct gi_arena *arena, const struct gi_arena_request *request, uint32_t kind,
                     uint64_t total, struct gi_arena_slot *slots, struct glinfer_error *err)
{
    uint32_t buffer;
    if (!choose_buffer(arena, total, &buffer, err)) {
        return false;
    }
    for (uint32_t i = 0; i < request->n; i++) {
        const uint64_t padded = gi_round_up(request->sizes[i], arena->alignment);
        if (request->kinds[i] != kind) {
            continue;
        }
        if (arena->buffers[buffer].size + padded > arena->max_size &&
            arena->buffers[buffer].size > 0 && !choose_buffer(arena, padded, &buffer, err)) {
            return false;
        }
        slots[i] = (struct gi_arena_slot){buffer, arena->buffers[buffer].size, request->sizes[i]};
        arena->buffers[buffer].size += padded;
        arena->total += padded;
    }
    return true;
}

// Adds the largest kinds first, so that they find a buffer with room for all of them.
static bool add_by_kind(struct gi_arena *arena, const struct gi_arena_request *request,
                        struct gi_arena_slot *slots, struct glinfer_error *err)
{
    const uint32_t n_kind = request->n_kind;
    // Bytes of each kind; 0 once it is placed.
    uint64_t *totals = gi_array_zeroed(n_kind, sizeof(*totals), "an arena", err);
    bool ok = totals;
    for (uint32_t i = 0; ok && i < request->n; i++) {
        assert(request->kinds[i] < n_kind);
        totals[request->kinds[i]] += gi_round_up(request->sizes[i], arena->alignment);
    }
    while (ok) {
        uint32_t largest = 0;
        for (uint32_t i = 1; i < n_kind; i++) {
            largest = totals[i] > totals[largest] ? i : largest;
        }
        if (totals[largest] == 0) {
            break;
        }
        ok = add_kind(arena, request, largest, totals[largest], slots, err);
        totals[largest] = 0;
    }
    free(totals);
    return ok;
}

static bool place_in(struct gi_arena *arena, struct gi_gpu *gpu, uint64_t buffer_size,
                     const struct gi_arena_request *request, bool is_by_kind,
                     struct gi_arena_slot *slots, struct glinfer_error *err)
{
    gi_arena_init(arena, buffer_size, gi_arena_alignment(gi_gpu_limits(gpu)));
    return (is_by_kind ? add_by_kind(arena, request, slots, err)
                       : add_in_order(arena, request, slots, err)) &&
           gi_arena_allocate(arena, gpu, request->label, err);
}

bool gi_arena_place(struct gi_arena *arena, struct gi_gpu *gpu,
                    const struct gi_arena_request *request, struct gi_arena_slot *slots,
                    struct glinfer_error *err)
{
    const bool is_bound = gi_gpu_may_be_single(gpu);
    const bool is_by_kind = is_bound && request->kinds;
    const uint64_t size = gi_arena_buffer_size(gi_gpu_limits(gpu), gi_arena_total(request, gpu),
                                               is_bound ? request->n_wanted : 0);
    struct glinfer_error own = {0};
    if (size > USUAL_SIZE) {
        if (place_in(arena, gpu, size, request, is_by_kind, slots, &own)) {
            return true;
        }
        gi_log_write(gi_gpu_log(gpu), GLINFER_LOG_DEBUG, "smaller buffers are taken: %s",
                     own.message);
        gi_arena_finish(arena, gpu);
    }
    return place_in(arena, gpu, USUAL_SIZE, request, is_by_kind, slots, err);
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
