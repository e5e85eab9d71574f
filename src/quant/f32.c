// F32 as in the file: 4 bytes an element, IEEE 754 single, little-endian.
#include "quant/quant_table.h"

static void dequantize_row(const void *src, size_t n_cols, float *dst)
{
    const uint8_t *elements = src;
    for (size_t i = 0; i < n_cols; i++) {
        dst[i] = gi_load_f32(elements + 4 * i);
    }
}

static void repack_block(const uint8_t *elements, size_t n, uint32_t *quads, size_t block,
                         size_t row)
{
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        gi_quad_at(quads, 8, block, i / 4, row)[i % 4] = i < n ? gi_load_u32(elements + 4 * i) : 0;
    }
}

static void
repack_tile(const void *const rows[GI_TILE_ROWS], size_t n_cols, uint32_t *quads,
            uint32_t *scales) // NOLINT(readability-non-const-parameter): as in the table
{
    (void)scales;
    for (size_t block = 0; block < gi_block_count(n_cols); block++) {
        for (size_t row = 0; row < GI_TILE_ROWS; row++) {
            const uint8_t *elements = rows[row];
            size_t n = elements ? gi_block_elements(block, n_cols) : 0;
            repack_block(n ? elements + block * GI_QUANT_BLOCK * 4 : NULL, n, quads, block, row);
        }
    }
}

const struct gi_quant gi_quant_f32 = {
    .type = GI_GGML_TYPE_F32,
    .n_quad = 8,
    .dequantize_row = dequantize_row,
    .repack_tile = repack_tile,
};
