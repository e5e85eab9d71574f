// F16 as in the file: 2 bytes an element, IEEE 754 half, little-endian.
#include "quant/quant_table.h"

static void dequantize_row(const void *src, size_t n_cols, float *dst)
{
    const uint8_t *elements = src;
    for (size_t i = 0; i < n_cols; i++) {
        dst[i] = gi_half_to_float(gi_load_u16(elements + 2 * i));
    }
}

static uint16_t element_or_zero(const uint8_t *elements, size_t n, size_t i)
{
    return i < n ? gi_load_u16(elements + 2 * i) : 0;
}

static void repack_block(const uint8_t *elements, size_t n, uint32_t *quads, size_t block,
                         size_t row)
{
    for (size_t i = 0; i < GI_QUANT_BLOCK; i += 2) {
        gi_quad_at(quads, 4, block, i / 8, row)[i / 2 % 4] =
            gi_pack_halves(element_or_zero(elements, n, i), element_or_zero(elements, n, i + 1));
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
            repack_block(n ? elements + block * GI_QUANT_BLOCK * 2 : NULL, n, quads, block, row);
        }
    }
}

const struct gi_quant gi_quant_f16 = {
    .type = GI_GGML_TYPE_F16,
    .n_quad = 4,
    .dequantize_row = dequantize_row,
    .repack_tile = repack_tile,
};
