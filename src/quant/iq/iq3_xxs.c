// IQ3_XXS as in the file: super-blocks of 256 elements, 8 blocks of 32, in 98 bytes; four elements
// are d * (1 + 2 scale) / 4 times a point of the grid, each with its sign. Magnitudes are 4 + 8 c,
// but 62 for c = 7.
//
//   byte   0 1   2 .. 9               10 ..   65   66 .. 69                      70 ..   97
//          d     eight points         block 1      signs of block 0, 7 bits      block 1
//          f16   of block 0                        for 8; scale, 4 bits
#include "quant/iq/iq_grids.h"

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    static const float magnitudes[8] = {4, 12, 20, 28, 36, 44, 52, 62};
    const uint32_t signs = gi_load_u32(super + 66 + 4 * block);
    const float d = gi_load_half(super) * (0.5f + (float)(signs >> 28)) * 0.5f;
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        const unsigned point = gi_grid_point(gi_iq3_xxs_grid, super[2 + 8 * block + i / 4]);
        const float weight = d * magnitudes[gi_coordinate_of_4(point, i % 4)];
        const unsigned flips = gi_even_signs(signs >> 7 * (i / 8) & 127);
        dst[i] = flips >> i % 8 & 1 ? -weight : weight;
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    words[0] = gi_load_u16(src);
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        uint32_t *pair = quads[b / 2] + b % 2 * 2;
        pair[0] = gi_load_u32(src + 2 + 8 * b);
        pair[1] = gi_load_u32(src + 6 + 8 * b);
        words[1 + b] = gi_load_u32(src + 66 + 4 * b);
    }
}

GI_QUANT(IQ3_XXS, iq3_xxs, repack_group, .quad_blocks = 8, .n_quad = 4, .scale_blocks = 8,
         .scale_words = 9, .table = gi_iq3_xxs_grid, .table_words = 128);
