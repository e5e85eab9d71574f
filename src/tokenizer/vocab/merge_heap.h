// The merges that a text offers, best first: what the byte pair encodings of this folder work
// through. Knows nothing of tokens.
#ifndef GI_TOKENIZER_MERGE_HEAP_H
#define GI_TOKENIZER_MERGE_HEAP_H

#include "base/error.h"

#include <stdint.h>

// Two neighbours that can become one. left and right are what tells a stale merge: the two sides as
// they were when it was found (ids or sizes); it is stale once a side has another.
struct gi_merge {
    uint32_t rank; // the lowest comes first, of equals the leftmost
    int32_t node;  // index of the left side
    int32_t left, right;
    int32_t joined; // what they become
};

// Zero-initialised.
struct gi_merge_heap {
    struct gi_merge *data;
    size_t count, capacity;
};

// Makes room for count merges in all. Fails with NO_MEMORY.
bool gi_merge_heap_reserve(struct gi_merge_heap *heap, size_t count, struct glinfer_error *err);
void gi_merge_heap_finish(struct gi_merge_heap *heap);

// There must be room.
void gi_merge_heap_push(struct gi_merge_heap *heap, struct gi_merge merge);
// The heap must not be empty.
struct gi_merge gi_merge_heap_pop(struct gi_merge_heap *heap);

#endif
