#include "base/round.h"
#include "quant/quant_table.h"

#include <assert.h>
#include <string.h>

// Holds a row's share of a tile while it is repacked.
struct group {
    uint32_t quads[GI_MAX_QUADS][GI_QUAD_WORDS];
    uint32_t words[GI_MAX_WORDS];
};

static size_t group_blocks(const struct gi_quant *quant)
{
    return quant->quad_blocks > quant->scale_blocks ? quant->quad_blocks : quant->scale_blocks;
}

// Puts n quads and words of a row where its tile has them.
static void scatter_group(const struct group *group, size_t n_quad, size_t n_word, size_t row,
                          uint32_t *quads, uint32_t *words)
{
    for (size_t i = 0; i < n_quad; i++) {
        memcpy(quads + (i * GI_TILE_ROWS + row) * GI_QUAD_WORDS, group->quads[i],
               sizeof(group->quads[i]));
    }
    for (size_t i = 0; i < n_word; i++) {
        words[i * GI_TILE_ROWS + row] = group->words[i];
    }
}

void gi_quant_repack_tile(const struct gi_quant *quant, const void *const rows[GI_TILE_ROWS],
                          size_t n_cols, uint32_t *quads, uint32_t *scales)
{
    const struct gi_ggml_type_info *type = gi_ggml_type_find(quant->type);
    const size_t group_cols = group_blocks(quant) * GI_QUANT_BLOCK;
    const size_t group_bytes = group_cols / type->block_size * type->block_bytes;
    for (size_t column = 0; column < n_cols; column += group_cols) {
        const size_t n = n_cols - column < group_cols ? n_cols - column : group_cols;
        const size_t n_block = gi_divide_up(n, GI_QUANT_BLOCK);
        const size_t n_quad = gi_divide_up(n_block, quant->quad_blocks) * quant->n_quad;
        const size_t n_word = quant->scale_blocks
                                  ? gi_divide_up(n_block, quant->scale_blocks) * quant->scale_words
                                  : 0;
        assert(n_quad <= GI_MAX_QUADS && n_word <= GI_MAX_WORDS);
        for (size_t row = 0; row < GI_TILE_ROWS; row++) {
            struct group group = {0};
            if (rows[row]) {
                const uint8_t *bytes = rows[row];
                quant->repack_group(bytes + column / group_cols * group_bytes, n, group.quads,
                                    group.words);
            }
            scatter_group(&group, n_quad, n_word, row, quads, scales);
        }
        quads += n_quad * GI_TILE_ROWS * GI_QUAD_WORDS;
        scales = scales ? scales + n_word * GI_TILE_ROWS : NULL;
    }
}

void gi_quant_set_factor(const struct gi_quant *quant, size_t row, size_t n_cols, float factor,
                         uint32_t *scales)
{
    const size_t n_group = gi_divide_up(gi_divide_up(n_cols, GI_QUANT_BLOCK), quant->scale_blocks);
    assert(quant->factor_word > 0);
    for (size_t i = 0; i < n_group; i++) {
        const size_t word = i * quant->scale_words + quant->factor_word;
        memcpy(scales + word * GI_TILE_ROWS + row, &factor, sizeof(factor));
    }
}
