// IQ1_S as in the file: super-blocks of 256 elements, 8 blocks of 32, in 50 bytes; eight elements
// are d * (1 + 2 scale) times a point of the grid moved by an eighth.
//
//   byte   0 1   2 .. 33                34 35                                36 ..   49
//          d     low 8 bits of 32       of block 0: high 3 bits of four      block 1
//          f16   points, 4 a block      points, scale, 3 bits; top bit: the
//                                       eighth is taken away
#include "quant/iq/iq_grids.h"

#define BLOCK_BYTES 50

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const unsigned word = gi_load_u16(super + 34 + 2 * block);
    const float d = gi_load_half(super) * (float)(1 + 2 * (word >> 12 & 7));
    for (size_t i = 0; i < 4; i++) {
        const unsigned point = super[2 + 4 * block + i] | (word >> 3 * i & 7) << 8;
        gi_iq1_weights(gi_grid_point(gi_iq1_s_grid, point), word >> 15 ? -0.125f : 0.125f, d,
                       dst + 8 * i);
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t s = 0; s < n / GI_SUPER_BLOCK; s++, src += BLOCK_BYTES) {
        words[0] |= (uint32_t)gi_load_u16(src) << 16 * s;
        for (size_t i = 0; i < 12; i++) {
            quads[3 * s + i / 4][i % 4] = gi_load_u32(src + 2 + 4 * i);
        }
    }
}

GI_QUANT(IQ1_S, iq1_s, repack_group, .quad_blocks = 8, .n_quad = 3, .scale_blocks = 16,
         .scale_words = 1, .table = gi_iq1_s_grid, .table_words = 1024);
