#include "speech/stream/time_map.h"

#include "base/array.h"
#include "speech/mel.h"

#include <stdlib.h>

bool gi_time_map_add(struct gi_time_map *map, struct gi_time_piece piece, struct glinfer_error *err)
{
    return GI_ARRAY_PUSH(map, "stretches of speech", err, piece);
}

enum { PER_MS = GI_MEL_RATE / 1000 };

// Returns the number of pieces that begin at or before a sample.
static size_t count_pieces(const struct gi_time_map *map, uint64_t sample)
{
    size_t i = map->count;
    while (i > 0 && map->data[i - 1].at > sample) { // the latest pieces are asked for
        i--;
    }
    return i;
}

static uint64_t map_sample(const struct gi_time_map *map, uint64_t sample, bool is_end,
                           uint64_t slack)
{
    const size_t i = count_pieces(map, sample);
    if (i == 0) {
        return map->count > 0 ? map->data[0].begin : sample;
    }
    const struct gi_time_piece *piece = &map->data[i - 1];
    const uint64_t offset = sample - piece->at;
    if (is_end && offset <= slack && i > 1) {
        return piece[-1].begin + piece[-1].size;
    }
    if (!is_end && offset + slack > piece->size && i < map->count) {
        return piece[1].begin;
    }
    return piece->begin + (offset < piece->size ? offset : piece->size);
}

uint64_t gi_time_map_ms(const struct gi_time_map *map, uint64_t frame, bool is_end,
                        uint32_t n_slack)
{
    return map_sample(map, frame * GI_MEL_HOP, is_end, (uint64_t)n_slack * GI_MEL_HOP) / PER_MS;
}

void gi_time_map_word(const struct gi_time_map *map, uint64_t from, uint64_t to, uint64_t *from_ms,
                      uint64_t *to_ms)
{
    const uint64_t begin = map_sample(map, from * GI_MEL_HOP, false, 0);
    uint64_t end = map_sample(map, to * GI_MEL_HOP, true, 0);
    for (size_t i = map->count; i > 0; i--) {
        const struct gi_time_piece *piece = &map->data[i - 1];
        if (piece->begin <= begin) {
            end = end < piece->begin + piece->size ? end : piece->begin + piece->size;
            break;
        }
    }
    *from_ms = begin / PER_MS;
    *to_ms = end > begin ? end / PER_MS : *from_ms;
}

void gi_time_map_finish(struct gi_time_map *map)
{
    free(map->data);
    *map = (struct gi_time_map){0};
}
