// Names in sorted order, for look-ups in O(log n) whatever a hostile file calls its entries.
// Private to this folder.
#pragma once

#include "gguf/gguf.h"

struct gi_name_entry {
    struct gi_gguf_string name; // borrowed bytes
    size_t index;               // of what bears the name
};

struct gi_name_index {
    struct gi_name_entry *entries; // count, owned
    size_t count;
};

#define GI_NO_INDEX SIZE_MAX

// Reserves count entries, which the caller fills before gi_name_index_sort. Fails with NO_MEMORY.
bool gi_name_index_init(struct gi_name_index *names, size_t count, struct glinfer_error *err);
void gi_name_index_finish(struct gi_name_index *names);
// Sorts and returns a name that appears twice, NULL if all names differ.
const struct gi_gguf_string *gi_name_index_sort(struct gi_name_index *names);
// Returns the index of what bears the name, GI_NO_INDEX if nothing does.
size_t gi_name_index_find(const struct gi_name_index *names, const char *name);
