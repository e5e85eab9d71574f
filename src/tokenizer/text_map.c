#include "tokenizer/text_map.h"

#include "base/array.h"

#include <stdlib.h>

bool gi_text_list_init(struct gi_text_list *list, const struct gi_text *texts, size_t count,
                       struct glinfer_error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        if (texts[i].size > SIZE_MAX - size) {
            return gi_error_no_memory(err, SIZE_MAX, "the vocabulary");
        }
        size += texts[i].size;
    }
    if (!GI_ARRAYS_ZEROED("the vocabulary", err, GI_NEW(list->bytes, size),
                          GI_NEW(list->offsets, count + 1))) {
        return false;
    }
    list->count = count;
    for (size_t i = 0; i < count; i++) {
        if (texts[i].size) {
            memcpy(list->bytes + list->offsets[i], texts[i].data, texts[i].size);
        }
        list->offsets[i + 1] = list->offsets[i] + texts[i].size;
    }
    return true;
}

void gi_text_list_finish(struct gi_text_list *list)
{
    free(list->bytes);
    free(list->offsets);
    memset(list, 0, sizeof(*list));
}

struct gi_text gi_text_list_at(const struct gi_text_list *list, size_t index)
{
    size_t start = list->offsets[index];
    return (struct gi_text){list->bytes + start, list->offsets[index + 1] - start};
}

// FNV-1a.
static uint64_t hash_bytes(uint64_t hash, struct gi_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        hash = (hash ^ (uint8_t)text.data[i]) * 0x100000001b3u;
    }
    return hash;
}

static bool is_joined(struct gi_text text, struct gi_text head, struct gi_text tail)
{
    return text.size == head.size + tail.size && gi_text_begins(text, head) &&
           gi_text_begins(gi_text_from(text, head.size), tail);
}

static size_t find_slot(const struct gi_text_map *map, struct gi_text head, struct gi_text tail)
{
    uint64_t hash = hash_bytes(hash_bytes(0xcbf29ce484222325u, head), tail);
    size_t slot = (hash ^ hash >> 32) & map->mask;
    while (map->slots[slot] >= 0 &&
           !is_joined(gi_text_list_at(map->list, (size_t)map->slots[slot]), head, tail)) {
        slot = (slot + 1) & map->mask;
    }
    return slot;
}

bool gi_text_map_init(struct gi_text_map *map, const struct gi_text_list *list,
                      struct glinfer_error *err)
{
    size_t n_slots = 16;
    while (n_slots < list->count * 2) {
        n_slots *= 2;
    }
    map->slots = gi_array_zeroed(n_slots, sizeof(*map->slots), "the vocabulary", err);
    if (!map->slots) {
        return false;
    }
    memset(map->slots, 0xff, n_slots * sizeof(*map->slots));
    map->mask = n_slots - 1;
    map->list = list;
    for (size_t i = 0; i < list->count; i++) {
        struct gi_text text = gi_text_list_at(list, i);
        if (text.size) {
            map->slots[find_slot(map, text, (struct gi_text){NULL, 0})] = (int32_t)i;
        }
    }
    return true;
}

void gi_text_map_finish(struct gi_text_map *map)
{
    free(map->slots);
    memset(map, 0, sizeof(*map));
}

int32_t gi_text_map_find_joined(const struct gi_text_map *map, struct gi_text head,
                                struct gi_text tail)
{
    return map->slots[find_slot(map, head, tail)];
}

int32_t gi_text_map_find(const struct gi_text_map *map, struct gi_text text)
{
    return gi_text_map_find_joined(map, text, (struct gi_text){NULL, 0});
}
