// IQ2_XXS as in the file: super-blocks of 256 elements, 8 blocks of 32, in 66 bytes; eight elements
// are d * (1 + 2 scale) / 8 times a point of the grid, each with its sign.
//
//   byte   0 1   2 .. 5             6 .. 9                        10 .. 17   ..   65
//          d     four points        signs, 7 bits each, the       block 1
//          f16   of block 0         first lowest; scale, 4 bits
#include "quant/iq/iq_grids.h"

#define BLOCK_BYTES 66

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const uint8_t *points = super + 2 + 8 * block;
    const uint32_t signs = gi_load_u32(points + 4);
    const float d = gi_load_half(super) * (0.5f + (float)(signs >> 28)) * 0.25f;
    for (size_t i = 0; i < 4; i++) {
        gi_iq2_weights(gi_grid_point(gi_iq2_xxs_grid, points[i]),
                       gi_even_signs(signs >> 7 * i & 127), d, dst + 8 * i);
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t s = 0; s < n / GI_SUPER_BLOCK; s++, src += BLOCK_BYTES) {
        words[0] |= (uint32_t)gi_load_u16(src) << 16 * s;
        for (size_t i = 0; i < 16; i++) {
            quads[4 * s + i / 4][i % 4] = gi_load_u32(src + 2 + 4 * i);
        }
    }
}

GI_QUANT(IQ2_XXS, iq2_xxs, repack_group, .quad_blocks = 8, .n_quad = 4, .scale_blocks = 16,
         .scale_words = 1, .table = gi_iq2_xxs_grid, .table_words = 128);
