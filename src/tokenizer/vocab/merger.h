// Merges the pieces of a word, two neighbours at a time and the best first, until none are left
// that can be merged: what both kinds of byte pair encoding do. Knows nothing of tokens.
#pragma once

#include "base/error.h"

#include <stdint.h>

// Bytes of the word that are one piece so far.
struct gi_piece {
    uint32_t offset, size;
    int32_t id;         // of the token it is; negative: none
    int32_t prev, next; // -1: none
};

struct gi_pieces {
    struct gi_piece *data;
    size_t count, capacity;
};

// Two neighbours that can become one. It is stale once one of them has another size.
struct gi_merge {
    uint32_t rank; // the lowest comes first, of equals the leftmost
    int32_t left;  // index of a piece
    uint32_t left_size, right_size;
    int32_t id; // of the token they become
};

struct gi_merge_heap {
    struct gi_merge *data;
    size_t count, capacity;
};

// Zero-initialised but for find and user.
struct gi_merger {
    struct gi_pieces pieces; // the first that is left is at 0, the others follow by `next`
    struct gi_merge_heap heap;
    // Sets rank and id of what two neighbours become; false if they become nothing.
    bool (*find)(const void *user, const struct gi_piece *left, const struct gi_piece *right,
                 uint32_t *rank, int32_t *id);
    const void *user;
};

// Begins a word of at most size pieces. Fails with NO_MEMORY.
bool gi_merger_begin(struct gi_merger *merger, size_t size, struct glinfer_error *err);
// Appends a piece.
void gi_merger_add(struct gi_merger *merger, uint32_t size, int32_t id);
void gi_merger_run(struct gi_merger *merger);
void gi_merger_finish(struct gi_merger *merger);
