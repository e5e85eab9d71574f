#include "engine/model/arena.h"

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

uint64_t gi_arena_total(const struct gi_arena_request *request, const struct gi_gpu *gpu)
{
    const uint32_t alignment = gi_arena_alignment(gi_gpu_limits(gpu));
    uint64_t total = 0;
    for (uint32_t i = 0; i < request->n; i++) {
        total += gi_round_up(request->sizes[i], alignment);
    }
    return total;
}

// Ranges on their way into buffers, whose sizes count up until they are allocated.
struct placing {
    struct gi_arena *arena;
    const struct gi_arena_request *request;
    uint64_t max_size, alignment; // of a buffer; of a range
    uint32_t *buffers;            // that each range lies in
    struct gi_range *ranges;      // without their buffers
    struct glinfer_error *err;
};

// Chooses the first buffer with room for size bytes, else opens a new one.
static bool choose_buffer(struct placing *placing, uint64_t size, uint32_t *buffer)
{
    struct gi_arena *arena = placing->arena;
    uint32_t i = 0;
    while (i < arena->n_buffers && arena->buffers[i].size + size > placing->max_size) {
        i++;
    }
    *buffer = i;
    if (i < arena->n_buffers) {
        return true;
    }
    if (!gi_array_grow(&arena->buffers, &arena->capacity, i + 1, sizeof(arena->buffers[0]),
                       "the list of buffers", placing->err)) {
        return false;
    }
    memset(&arena->buffers[arena->n_buffers++], 0, sizeof(arena->buffers[0]));
    return true;
}

static bool add_kind(struct placing *placing, uint32_t kind, uint64_t total)
{
    const struct gi_arena_request *request = placing->request;
    uint32_t buffer;
    if (!choose_buffer(placing, total, &buffer)) {
        return false;
    }
    for (uint32_t i = 0; i < request->n; i++) {
        const uint64_t padded = gi_round_up(request->sizes[i], placing->alignment);
        uint64_t *end = &placing->arena->buffers[buffer].size;
        if (request->kinds && request->kinds[i] != kind) {
            continue;
        }
        if (*end + padded > placing->max_size && *end > 0) {
            if (!choose_buffer(placing, padded, &buffer)) {
                return false;
            }
            end = &placing->arena->buffers[buffer].size;
        }
        placing->buffers[i] = buffer;
        placing->ranges[i] = (struct gi_range){NULL, *end, request->sizes[i]};
        *end += padded;
    }
    return true;
}

// Adds the largest kinds first, so that they find a buffer with room for all of them.
static bool add_kinds(struct placing *placing)
{
    const struct gi_arena_request *request = placing->request;
    // Bytes of each kind; 0 once it is placed.
    uint64_t *totals = gi_array_zeroed(request->n_kind, sizeof(*totals), "an arena", placing->err);
    bool ok = totals;
    for (uint32_t i = 0; ok && i < request->n; i++) {
        assert(request->kinds[i] < request->n_kind);
        totals[request->kinds[i]] += gi_round_up(request->sizes[i], placing->alignment);
    }
    while (ok) {
        uint32_t largest = 0;
        for (uint32_t i = 1; i < request->n_kind; i++) {
            largest = totals[i] > totals[largest] ? i : largest;
        }
        if (totals[largest] == 0) {
            break;
        }
        ok = add_kind(placing, largest, totals[largest]);
        totals[largest] = 0;
    }
    free(totals);
    return ok;
}

static bool allocate(const struct placing *placing, struct gi_gpu *gpu)
{
    struct gi_arena *arena = placing->arena;
    const struct gi_arena_request *request = placing->request;
    const uint64_t total = gi_arena_total(request, gpu);
    for (uint32_t i = 0; i < arena->n_buffers; i++) {
        const uint64_t size = arena->buffers[i].size;
        if (!gi_buffer_init_paged(&arena->buffers[i], gpu, size, total, request->label,
                                  placing->err)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < request->n; i++) {
        placing->ranges[i].buffer = &arena->buffers[placing->buffers[i]];
    }
    return true;
}

static bool place_in(struct gi_arena *arena, struct gi_gpu *gpu, uint64_t buffer_size,
                     const struct gi_arena_request *request, struct gi_range *ranges,
                     struct glinfer_error *err)
{
    struct placing placing = {.arena = arena,
                              .request = request,
                              .max_size = buffer_size,
                              .alignment = gi_arena_alignment(gi_gpu_limits(gpu)),
                              .ranges = ranges,
                              .err = err};
    *arena = (struct gi_arena){0};
    placing.buffers = gi_array_zeroed(request->n, sizeof(placing.buffers[0]), "an arena", err);
    const bool ok = placing.buffers &&
                    (request->kinds ? add_kinds(&placing) : add_kind(&placing, 0, 0)) &&
                    allocate(&placing, gpu);
    free(placing.buffers);
    return ok;
}

bool gi_arena_place(struct gi_arena *arena, struct gi_gpu *gpu,
                    const struct gi_arena_request *request, struct gi_range *ranges,
                    struct glinfer_error *err)
{
    struct gi_arena_request own = *request;
    if (!gi_gpu_joins_ranges(gpu)) {
        own.kinds = NULL;
        own.n_wanted = 0;
    }
    const uint64_t size =
        gi_arena_buffer_size(gi_gpu_limits(gpu), gi_arena_total(request, gpu), own.n_wanted);
    struct glinfer_error why = {0};
    if (size > USUAL_SIZE) {
        if (place_in(arena, gpu, size, &own, ranges, &why)) {
            return true;
        }
        gi_log_write(gi_gpu_log(gpu), GLINFER_LOG_DEBUG, "smaller buffers are taken: %s",
                     why.message);
        gi_arena_finish(arena, gpu);
    }
    return place_in(arena, gpu, USUAL_SIZE, &own, ranges, err);
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
