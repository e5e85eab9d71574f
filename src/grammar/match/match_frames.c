#include "grammar/match/match_frames.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] = "a grammar's stacks";

bool gi_match_frames_init(struct gi_match_frames *frames, struct glinfer_error *err)
{
    return gi_array_grow(&frames->data, &frames->capacity, ++frames->count, sizeof(*frames->data),
                         purpose, err);
}

void gi_match_frames_finish(struct gi_match_frames *frames)
{
    free(frames->data);
    gi_index_finish(&frames->index);
    memset(frames, 0, sizeof(*frames));
}

static uint32_t hash_of(uint32_t node, uint32_t below)
{
    return (uint32_t)(((node * 0x9e3779b97f4a7c15u) ^ (below * 0xc2b2ae3d27d4eb4fu)) >> 32);
}

bool gi_match_frames_push(struct gi_match_frames *frames, uint32_t node, uint32_t below,
                          uint32_t *frame, struct glinfer_error *err)
{
    const uint32_t hash = hash_of(node, below);
    uint32_t step = 0, found;
    while ((found = gi_index_next(&frames->index, hash, &step)) != GI_INDEX_END) {
        if (frames->data[found].node == node && frames->data[found].below == below) {
            *frame = found;
            return true;
        }
    }
    *frame = (uint32_t)frames->count;
    return GI_ARRAY_PUSH(frames, purpose, err, (struct gi_frame){node, below}) &&
           gi_index_add(&frames->index, hash, *frame, purpose, err);
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
    gi_index_clear(&frames->index);
    for (uint32_t i = 1; i < n; i++) {
        gi_index_add(&frames->index, hash_of(frames->data[i].node, frames->data[i].below), i,
                     purpose, NULL);
    }
}
