// The list of merges of a vocabulary: which token two neighbours become, and which pair comes
// first.
#pragma once

#include "tokenizer/text_map.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocab/merger.h"

struct gi_pair_merge {
    int32_t left, right, joined; // left is GI_NO_TOKEN in a free slot
    uint32_t rank;
};

// A hash table, zero-initialised.
struct gi_merges {
    struct gi_pair_merge *slots;
    size_t mask;
};

// Fails with BAD_FILE (a merge that has no two tokens, or names or makes one that the vocabulary
// does not have), NO_MEMORY.
bool gi_merges_init(struct gi_merges *merges, const struct gi_text_map *ids,
                    const struct gi_vocab *vocab, struct glinfer_error *err);
void gi_merges_finish(struct gi_merges *merges);

// Finds what two pieces become by their ids: find of struct gi_merger, whose user is the merges.
bool gi_merges_find(const void *user, const struct gi_piece *left, const struct gi_piece *right,
                    uint32_t *rank, int32_t *id);
