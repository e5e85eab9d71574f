// Maps times of a sound that was joined from stretches of a stream back to times of the stream.
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

// Samples [at, at + size) of the sound are those of the stream from `begin` on.
struct gi_time_piece {
    uint64_t at, begin, size;
};

// In order; zero-initialised. Without a piece the sound is the stream.
struct gi_time_map {
    struct gi_time_piece *data; // owned
    size_t count, capacity;
};

// Fails with NO_MEMORY.
bool gi_time_map_add(struct gi_time_map *map, struct gi_time_piece piece,
                     struct glinfer_error *err);
// Returns the time in ms of the start of a frame of 10 ms of the sound. Between two pieces it is
// that of the first one's end if something ends there, else that of the second one's start; so it
// is within n_slack frames of such a place, for times that are not exact.
uint64_t gi_time_map_ms(const struct gi_time_map *map, uint64_t frame, bool is_end,
                        uint32_t n_slack);
// Finds the times in ms of frames [from, to), which are a word: it ends with its piece.
void gi_time_map_word(const struct gi_time_map *map, uint64_t from, uint64_t to, uint64_t *from_ms,
                      uint64_t *to_ms);
void gi_time_map_finish(struct gi_time_map *map);
