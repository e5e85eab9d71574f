// The strings of a vocabulary in one allocation, and the way back from a string to its index. Knows
// nothing of tokens.
#pragma once

#include "tokenizer/tokenizer.h"

// Owns copies of count strings.
struct gi_text_list {
    char *bytes;
    size_t *offsets; // count + 1, into bytes
    size_t count;
};

bool gi_text_list_init(struct gi_text_list *list, const struct gi_text *texts, size_t count,
                       struct glinfer_error *err);
void gi_text_list_finish(struct gi_text_list *list);
struct gi_text gi_text_list_at(const struct gi_text_list *list, size_t index);

// A hash table over a list. Empty strings are not in it; of equal strings the last is.
struct gi_text_map {
    const struct gi_text_list *list; // borrowed
    int32_t *slots;                  // index into the list, -1: free
    size_t mask;                     // number of slots, a power of two, less one
};

bool gi_text_map_init(struct gi_text_map *map, const struct gi_text_list *list,
                      struct glinfer_error *err);
void gi_text_map_finish(struct gi_text_map *map);
// Returns the index of the string that is head followed by tail, or -1.
int32_t gi_text_map_find_joined(const struct gi_text_map *map, struct gi_text head,
                                struct gi_text tail);
int32_t gi_text_map_find(const struct gi_text_map *map, struct gi_text text);
