// IQ2_XS as in the file: super-blocks of 256 elements, 8 blocks of 32, in 74 bytes; eight elements
// are d * (1 + 2 scale) / 8 times a point of the grid, each with its sign.
//
//   byte   0 1   2 3              4 5   ..   65   66                       67   ..   73
//          d     point, 9 bits,                   scales of block 0: of
//          f16   signs, 7 bits                    16 weights a nibble
#include "quant/iq/iq_grids.h"

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const unsigned scales = super[66 + block];
    for (size_t i = 0; i < 4; i++) {
        const unsigned point = gi_load_u16(super + 2 + 8 * block + 2 * i);
        const float scale = (float)(scales >> 4 * (i / 2) & 15);
        gi_iq2_weights(gi_grid_point(gi_iq2_xs_grid, point & 511), gi_even_signs(point >> 9),
                       gi_load_half(super) * (0.5f + scale) * 0.25f, dst + 8 * i);
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    words[0] = gi_load_u16(src);
    words[1] = gi_load_u32(src + 66);
    words[2] = gi_load_u32(src + 70);
    for (size_t i = 0; i < 16; i++) {
        quads[i / 4][i % 4] = gi_load_u32(src + 2 + 4 * i);
    }
}

GI_QUANT(IQ2_XS, iq2_xs, repack_group, .quad_blocks = 8, .n_quad = 4, .scale_blocks = 8,
         .scale_words = 3, .table = gi_iq2_xs_grid, .table_words = 256);
