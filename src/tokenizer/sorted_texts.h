// Some texts of a list in the order of their bytes, so that those which a text goes on with are
// found a byte at a time.
#pragma once

#include "tokenizer/text_map.h"

struct gi_sorted_texts {
    const struct gi_text_list *list; // borrowed
    int32_t *ids;                    // indices into the list, of texts that are not empty
    size_t count;
    size_t first[257]; // ids whose text begins with byte b: first[b] .. first[b + 1] - 1
};

// Allocates an empty list for at most `count_max` ids. Fails with NO_MEMORY.
bool gi_sorted_texts_init(struct gi_sorted_texts *sorted, const struct gi_text_list *list,
                          size_t count_max, struct glinfer_error *err);
void gi_sorted_texts_finish(struct gi_sorted_texts *sorted);

// Sorts ids[0 .. count - 1], which the caller has put there, equal texts by their ids.
void gi_sorted_texts_sort(struct gi_sorted_texts *sorted);
// Sets `first` of sorted ids, when the caller has left out what it does not need of equal texts:
// who walks over many of them does so at every byte of a text.
void gi_sorted_texts_index(struct gi_sorted_texts *sorted);

static inline struct gi_text gi_sorted_texts_at(const struct gi_sorted_texts *sorted, size_t i)
{
    return gi_text_list_at(sorted->list, (size_t)sorted->ids[i]);
}

// Returns true if the texts at i and j are equal.
bool gi_sorted_texts_is_equal(const struct gi_sorted_texts *sorted, size_t i, size_t j);

// Narrows texts [*low, *high), which share `depth` bytes, to those whose next byte is that one.
void gi_sorted_texts_narrow(const struct gi_sorted_texts *sorted, size_t depth, uint8_t byte,
                            size_t *low, size_t *high);
