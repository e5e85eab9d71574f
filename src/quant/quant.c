#include "base/round.h"
#include "quant/quant_table.h"

static const struct gi_quant *const table[] = {
#define TABLE_ENTRY(name, text, ...) &gi_quant_##text,
    GI_WEIGHT_TYPE_MAP(TABLE_ENTRY)
#undef TABLE_ENTRY
};

const struct gi_quant *gi_quant_find(uint32_t type)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i]->type == type) {
            return table[i];
        }
    }
    return NULL;
}

const char *gi_quant_names(void)
{
#define NAME_AFTER_COMMA(name, text, ...) ", " #text
    static const char names[] = GI_WEIGHT_TYPE_MAP(NAME_AFTER_COMMA);
#undef NAME_AFTER_COMMA
    return names + 2;
}

void gi_quant_dequantize_row(const struct gi_quant *quant, const void *src, size_t n_cols,
                             float *dst)
{
    const struct gi_ggml_type_info *type = gi_ggml_type_find(quant->type);
    const size_t n = type->block_size < GI_QUANT_BLOCK ? type->block_size : GI_QUANT_BLOCK;
    for (size_t i = 0; i < n_cols; i += n) {
        const uint8_t *block = (const uint8_t *)src + i / type->block_size * type->block_bytes;
        quant->dequantize(block, i % type->block_size / n, dst + i);
    }
}

uint64_t gi_quant_quads_size(const struct gi_quant *quant, uint64_t n_rows, uint64_t n_cols)
{
    uint64_t n_tile = gi_divide_up(n_rows, GI_TILE_ROWS);
    uint64_t n_group = gi_divide_up(gi_divide_up(n_cols, GI_QUANT_BLOCK), quant->quad_blocks);
    return n_tile * n_group * quant->n_quad * GI_TILE_ROWS * GI_QUAD_WORDS * sizeof(uint32_t);
}

uint64_t gi_quant_scales_size(const struct gi_quant *quant, uint64_t n_rows, uint64_t n_cols)
{
    if (quant->scale_blocks == 0) {
        return 0;
    }
    uint64_t n_tile = gi_divide_up(n_rows, GI_TILE_ROWS);
    uint64_t n_block = gi_divide_up(n_cols, GI_QUANT_BLOCK);
    uint64_t n_scale = gi_divide_up(n_block, quant->scale_blocks) * quant->scale_words;
    return n_tile * n_scale * GI_TILE_ROWS * sizeof(uint32_t);
}
