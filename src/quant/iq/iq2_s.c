// IQ2_S as in the file: super-blocks of 256 elements, 8 blocks of 32, in 82 bytes; eight elements
// are d * (1 + 2 scale) / 8 times a point of the grid, each with its sign.
//
//   byte   0 1   2 .. 33            34 .. 65        66 .. 73             74 .. 81
//          d     low 8 bits of 32   a sign an       a byte a block:      a byte a block:
//          f16   points             element         high 2 bits of its   a nibble for 16
//                                                   points               elements
#include "quant/iq/iq_grids.h"

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const unsigned high = super[66 + block], scales = super[74 + block];
    for (size_t i = 0; i < 4; i++) {
        const unsigned point = super[2 + 4 * block + i] | (high >> 2 * i & 3) << 8;
        const float scale = (float)(scales >> 4 * (i / 2) & 15);
        gi_iq2_weights(gi_grid_point(gi_iq2_s_grid, point), super[34 + 4 * block + i],
                       gi_load_half(super) * (0.5f + scale) * 0.25f, dst + 8 * i);
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    words[0] = gi_load_u16(src);
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        uint32_t *pair = quads[b / 2] + b % 2 * 2;
        pair[0] = gi_load_u32(src + 2 + 4 * b);
        pair[1] = gi_load_u32(src + 34 + 4 * b);
        words[1 + b / 2] |= (uint32_t)(src[66 + b] | src[74 + b] << 8) << 16 * (b % 2);
    }
}

GI_QUANT(IQ2_S, iq2_s, repack_group, .quad_blocks = 8, .n_quad = 4, .scale_blocks = 8,
         .scale_words = 5, .table = gi_iq2_s_grid, .table_words = 512);
