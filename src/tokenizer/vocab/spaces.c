#include "tokenizer/vocab/spaces.h"

#include "base/array.h"
#include "tokenizer/tokenizer_impl.h"

#include <stdio.h>
#include <string.h>

bool gi_is_space_at(struct gi_text text, size_t i)
{
    return text.size - i >= GI_SPACE_SIZE && memcmp(text.data + i, GI_SPACE, GI_SPACE_SIZE) == 0;
}

size_t gi_unescape_spaces(char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size;) {
        if (gi_is_space_at((struct gi_text){text, size}, i)) {
            text[n++] = ' ';
            i += GI_SPACE_SIZE;
        } else {
            text[n++] = text[i++];
        }
    }
    return n;
}

char *gi_escape_spaces(struct gi_text text, bool is_prefixed, struct gi_text *escaped,
                       struct glinfer_error *err)
{
    if (text.size > SIZE_MAX / GI_SPACE_SIZE - 1) {
        gi_error_no_memory(err, text.size, "a text");
        return NULL;
    }
    char *data = gi_array_zeroed((text.size + 1) * GI_SPACE_SIZE, 1, "a text", err);
    if (!data) {
        return NULL;
    }
    size_t n = is_prefixed ? GI_SPACE_SIZE : 0;
    memcpy(data, GI_SPACE, n);
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == ' ') {
            memcpy(data + n, GI_SPACE, GI_SPACE_SIZE);
            n += GI_SPACE_SIZE;
        } else {
            data[n++] = text.data[i];
        }
    }
    *escaped = (struct gi_text){data, n};
    return data;
}

size_t gi_character_at(struct gi_text text, size_t offset)
{
    const uint8_t lead = (uint8_t)text.data[offset];
    const size_t size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return size < text.size - offset ? size : text.size - offset;
}

int32_t gi_find_byte_token(const struct gi_text_map *ids, uint8_t byte)
{
    char name[8];
    snprintf(name, sizeof(name), "<0x%02X>", byte);
    return gi_text_map_find(ids, (struct gi_text){name, strlen(name)});
}

bool gi_find_byte_tokens(const struct gi_text_map *ids, int32_t byte_ids[256])
{
    bool has_all = true;
    for (size_t byte = 0; byte < 256; byte++) {
        byte_ids[byte] = gi_find_byte_token(ids, (uint8_t)byte);
        has_all &= byte_ids[byte] >= 0;
    }
    return has_all;
}

void gi_encode_piece(struct gi_encoder *encoder, int32_t id, struct gi_text bytes,
                     const int32_t byte_ids[256])
{
    gi_encode_id(encoder, id);
    for (size_t i = 0; id < 0 && i < bytes.size; i++) {
        gi_encode_id(encoder, byte_ids[(uint8_t)bytes.data[i]]);
    }
}
