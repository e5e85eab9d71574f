#include "gguf/name_index.h"

#include "base/array.h"

#include <stdlib.h>

static int compare_entries(const void *left, const void *right)
{
    const struct gi_gguf_string *a = &((const struct gi_name_entry *)left)->name;
    const struct gi_gguf_string *b = &((const struct gi_name_entry *)right)->name;
    const int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

bool gi_name_index_init(struct gi_name_index *names, size_t count, struct glinfer_error *err)
{
    names->entries = gi_array_zeroed(count, sizeof(*names->entries), "an index of names", err);
    names->count = names->entries ? count : 0;
    return names->entries;
}

void gi_name_index_finish(struct gi_name_index *names)
{
    free(names->entries);
    *names = (struct gi_name_index){0};
}

const struct gi_gguf_string *gi_name_index_sort(struct gi_name_index *names)
{
    struct gi_name_entry *e = names->entries;
    qsort(e, names->count, sizeof(*e), compare_entries);
    for (size_t i = 1; i < names->count; i++) {
        if (compare_entries(&e[i - 1], &e[i]) == 0) {
            return &e[i].name;
        }
    }
    return NULL;
}

size_t gi_name_index_find(const struct gi_name_index *names, const char *name)
{
    struct gi_name_entry key = {.name = {name, strlen(name)}};
    const struct gi_name_entry *entry =
        bsearch(&key, names->entries, names->count, sizeof(key), compare_entries);
    return entry ? entry->index : GI_NO_INDEX;
}
