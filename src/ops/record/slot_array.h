// Memory of sequences that decode together: one range with an element for each slot; slot i is at
// i * stride. Strides are multiples of 256 bytes, so that one element can be bound.
#pragma once

#include "base/round.h"
#include "gpu/memory/buffer.h"

#define GI_SLOT_ALIGNMENT 256 // bytes; the largest that ES 3.1 lets a device ask for

struct gi_slot_array {
    struct gi_range range; // of all slots
    uint64_t stride, size; // bytes between slots; bytes of a slot
};

// Returns the bytes between slots of `size` bytes.
static inline uint64_t gi_slot_stride(uint64_t size)
{
    return gi_round_up(size, GI_SLOT_ALIGNMENT);
}

static inline struct gi_range gi_slot_range(const struct gi_slot_array *array, uint32_t slot)
{
    return (struct gi_range){array->range.buffer, array->range.offset + slot * array->stride,
                             array->size};
}
