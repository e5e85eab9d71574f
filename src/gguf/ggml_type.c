#include "gguf/ggml_type.h"

#include <stddef.h>

static const struct gi_ggml_type_info table[] = {
#define TABLE_ENTRY(name, text, folder, number, block, bytes) {number, #text, block, bytes},
    GI_WEIGHT_TYPE_MAP(TABLE_ENTRY) GI_OTHER_TYPE_MAP(TABLE_ENTRY)
#undef TABLE_ENTRY
};

const struct gi_ggml_type_info *gi_ggml_type_find(uint32_t type)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].type == type) {
            return &table[i];
        }
    }
    return NULL;
}
