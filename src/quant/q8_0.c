// Q8_0 as in the file: blocks of 32 elements in 34 bytes; element i = d * q[i].
//
//   byte   0 1   2 .. 33
//          d     q[0] .. q[31]
//          f16   int8
#include "quant/quant_table.h"

#define BLOCK_BYTES 34

static void dequantize_row(const void *src, size_t n_cols, float *dst)
{
    const uint8_t *block = src;
    for (size_t i = 0; i < n_cols; i += GI_QUANT_BLOCK, block += BLOCK_BYTES) {
        float d = gi_half_to_float(gi_load_u16(block));
        for (size_t j = 0; j < GI_QUANT_BLOCK; j++) {
            dst[i + j] = d * (float)(int8_t)block[2 + j];
        }
    }
}

static void repack_quants(const uint8_t *row_blocks, size_t block, size_t row, uint32_t *quads)
{
    for (size_t i = 0; i < 8; i++) {
        gi_quad_at(quads, 2, block, i / 4, row)[i % 4] =
            row_blocks ? gi_load_u32(row_blocks + BLOCK_BYTES * block + 2 + 4 * i) : 0;
    }
}

static void repack_tile(const void *const rows[GI_TILE_ROWS], size_t n_cols, uint32_t *quads,
                        uint32_t *scales)
{
    for (size_t block = 0; block < gi_block_count(n_cols); block++) {
        for (size_t row = 0; row < GI_TILE_ROWS; row++) {
            repack_quants(rows[row], block, row, quads);
        }
    }
    gi_repack_paired_scales(rows, gi_block_count(n_cols), BLOCK_BYTES, scales);
}

const struct gi_quant gi_quant_q8_0 = {
    .type = GI_GGML_TYPE_Q8_0,
    .n_quad = 2,
    .scale_blocks = 2,
    .scale_words = 1,
    .dequantize_row = dequantize_row,
    .repack_tile = repack_tile,
};
