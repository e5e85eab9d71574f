#include "tokenizer/vocab/charsmap.h"

#include "base/array.h"
#include "base/bytes.h"

#include <stdlib.h>

enum { HEAD_SIZE = 4, REPLACEMENT_MAX = 1024 };

//-- nodes -----------------------------------------------------------------------------------------

// A node has the byte that leads to it in bits 0 to 7, and bit 31 if it is not such a node but the
// offset of a replacement; bit 8 where a replacement ends at it; in bits 10 to 30 the distance of
// its children, in units of 256 if bit 9 is set.

static uint32_t node_at(const struct gi_charsmap *map, size_t index)
{
    // No byte leads to a node that is not there.
    return index < map->n_nodes ? map->nodes[index] : UINT32_C(1) << 31;
}

static uint32_t distance(uint32_t node)
{
    return (node >> 10) << ((node >> 9 & 1) * 8);
}

static bool is_led_to(uint32_t node, uint8_t byte)
{
    return (node & (UINT32_C(1) << 31 | 0xff)) == byte;
}

//-- the map ---------------------------------------------------------------------------------------

static bool refuse(const char *what, size_t size, struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "tokenizer.ggml.precompiled_charsmap of %zu bytes %s", size, what);
}

static bool check_replacements(struct gi_text replacements, size_t size, struct glinfer_error *err)
{
    size_t run = 0;
    for (size_t i = 0; i < replacements.size; i++) {
        run = replacements.data[i] ? run + 1 : 0;
        if (run > REPLACEMENT_MAX) {
            return refuse("replaces a character by more than 1024 bytes", size, err);
        }
    }
    return run == 0 || refuse("ends within a replacement", size, err);
}

bool gi_charsmap_init(struct gi_charsmap *map, struct gi_text file, struct glinfer_error *err)
{
    *map = (struct gi_charsmap){0};
    if (file.size == 0) {
        return true;
    }
    const uint8_t *bytes = (const uint8_t *)file.data;
    const uint32_t size = file.size >= HEAD_SIZE ? gi_load_u32(bytes) : 0;
    if (file.size < HEAD_SIZE || size >= file.size - HEAD_SIZE) {
        return refuse("is cut off", file.size, err);
    }
    const struct gi_text replacements = gi_text_from(file, HEAD_SIZE + size);
    if (!check_replacements(replacements, file.size, err)) {
        return false;
    }
    map->n_nodes = size / sizeof(map->nodes[0]);
    map->replacements_size = replacements.size;
    if (!GI_ARRAYS_ZEROED("a normaliser", err, GI_NEW(map->nodes, map->n_nodes),
                          GI_NEW(map->replacements, replacements.size))) {
        gi_charsmap_finish(map);
        return false;
    }
    for (size_t i = 0; i < map->n_nodes; i++) {
        map->nodes[i] = gi_load_u32(bytes + HEAD_SIZE + i * sizeof(map->nodes[0]));
    }
    memcpy(map->replacements, replacements.data, replacements.size);
    return true;
}

void gi_charsmap_finish(struct gi_charsmap *map)
{
    free(map->nodes);
    free(map->replacements);
    *map = (struct gi_charsmap){0};
}

// Returns the size of the longest, or the first, beginning of text that is replaced.
static size_t find(const struct gi_charsmap *map, struct gi_text text, bool stops_at_first,
                   struct gi_text *replacement)
{
    size_t longest = 0, offset = 0;
    uint32_t index = map->n_nodes > 0 ? distance(map->nodes[0]) : 0;
    for (size_t i = 0; map->n_nodes > 0 && i < text.size && text.data[i]; i++) {
        const uint8_t byte = (uint8_t)text.data[i];
        index ^= byte;
        const uint32_t node = node_at(map, index);
        if (!is_led_to(node, byte)) {
            break;
        }
        index ^= distance(node);
        if (node >> 8 & 1) {
            longest = i + 1;
            offset = node_at(map, index) & INT32_MAX;
            if (stops_at_first) {
                break;
            }
        }
    }
    if (longest == 0 || offset >= map->replacements_size) {
        return 0;
    }
    *replacement = gi_text_of(map->replacements + offset);
    return longest;
}

size_t gi_charsmap_find(const struct gi_charsmap *map, struct gi_text text,
                        struct gi_text *replacement)
{
    return find(map, text, false, replacement);
}

size_t gi_charsmap_find_shortest(const struct gi_charsmap *map, struct gi_text text,
                                 struct gi_text *replacement)
{
    return find(map, text, true, replacement);
}
