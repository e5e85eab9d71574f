#include "grammar/match/match_frames.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] = "a grammar's stacks";

bool gi_match_frames_init(struct gi_match_frames *frames, struct glinfer_error *err)
{
    frames->n_slots = 256;
    frames->slots = gi_array_zeroed(frames->n_slots, sizeof(*frames->slots), purpose, err);
    return frames->slots && gi_array_grow(&frames->data, &frames->capacity, ++frames->count,
                                          sizeof(*frames->data), purpose, err);
}

void gi_match_frames_finish(struct gi_match_frames *frames)
{
    free(frames->data);
    free(frames->slots);
    memset(frames, 0, sizeof(*frames));
}

static uint32_t *find_slot(const struct gi_match_frames *frames, uint32_t node, uint32_t below)
{
    const uint64_t mixed = (node * 0x9e3779b97f4a7c15u) ^ (below * 0xc2b2ae3d27d4eb4fu);
    size_t at = (size_t)(mixed >> 32) & (frames->n_slots - 1);
    while (frames->slots[at]) {
        const struct gi_frame *found = &frames->data[frames->slots[at]];
        if (found->node == node && found->below == below) {
            break;
        }
        at = (at + 1) & (frames->n_slots - 1);
    }
    return &frames->slots[at];
}

static void fill_slots(struct gi_match_frames *frames)
{
    for (uint32_t i = 1; i < frames->count; i++) {
        *find_slot(frames, frames->data[i].node, frames->data[i].below) = i;
    }
}

bool gi_match_frames_push(struct gi_match_frames *frames, uint32_t node, uint32_t below,
                          uint32_t *frame, struct glinfer_error *err)
{
    uint32_t *slot = find_slot(frames, node, below);
    if (*slot) {
        *frame = *slot;
        return true;
    }
    if (frames->count * 2 >= frames->n_slots) {
        const size_t n_slots = frames->n_slots * 2;
        uint32_t *slots = gi_array_zeroed(n_slots, sizeof(*slots), purpose, err);
        if (!slots) {
            return false;
        }
        free(frames->slots);
        frames->slots = slots;
        frames->n_slots = n_slots;
        fill_slots(frames);
        slot = find_slot(frames, node, below);
    }
    if (!gi_array_grow(&frames->data, &frames->capacity, frames->count + 1, sizeof(*frames->data),
                       purpose, err)) {
        return false;
    }
    *frame = (uint32_t)frames->count;
    frames->data[frames->count++] = (struct gi_frame){node, below};
    *slot = *frame;
    return true;
}

void gi_match_frames_keep(struct gi_match_frames *frames, uint32_t *new_of)
{
    for (size_t i = frames->count; i-- > 1;) {
        if (new_of[i]) {
            new_of[frames->data[i].below] = 1;
        }
    }
    size_t n = 1;
    new_of[0] = 0;
    for (size_t i = 1; i < frames->count; i++) {
        if (new_of[i]) {
            const struct gi_frame frame = frames->data[i];
            frames->data[n] = (struct gi_frame){frame.node, new_of[frame.below]};
            new_of[i] = (uint32_t)n++;
        }
    }
    frames->count = n;
    memset(frames->slots, 0, frames->n_slots * sizeof(*frames->slots));
    fill_slots(frames);
}
