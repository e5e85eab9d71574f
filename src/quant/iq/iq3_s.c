// IQ3_S as in the file: super-blocks of 256 elements, 8 blocks of 32, in 110 bytes; four elements
// are d * (1 + 2 scale) times a point of the grid, each with its sign. Magnitudes are 1 + 2 c.
//
//   byte   0 1   2 .. 65            66 .. 73              74 .. 105    106 .. 109
//          d     low 8 bits of 64   a byte a block: bit   a sign an    a nibble a
//          f16   points             8 of its points       element      block: scale
#include "quant/iq/iq_grids.h"

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const uint8_t *low = super + 2 + 8 * block, *signs = super + 74 + 4 * block;
    const unsigned high = super[66 + block];
    const int scale = super[106 + block / 2] >> 4 * (block % 2) & 15;
    const float d = gi_load_half(super) * (float)(1 + 2 * scale);
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        const unsigned index = low[i / 4] | (high >> i / 4 & 1) << 8;
        const unsigned point = gi_grid_point(gi_iq3_s_grid, index);
        const float weight = d * (float)(1 + 2 * gi_coordinate_of_4(point, i % 4));
        dst[i] = signs[i / 8] >> i % 8 & 1 ? -weight : weight;
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    words[0] = gi_load_u16(src);
    words[1] = gi_load_u32(src + 106);
    words[2] = gi_load_u32(src + 66);
    words[3] = gi_load_u32(src + 70);
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        uint32_t *pair = quads[b / 2] + b % 2 * 2;
        pair[0] = gi_load_u32(src + 2 + 8 * b);
        pair[1] = gi_load_u32(src + 6 + 8 * b);
        words[4 + b] = gi_load_u32(src + 74 + 4 * b);
    }
}

GI_QUANT(IQ3_S, iq3_s, repack_group, .quad_blocks = 8, .n_quad = 4, .scale_blocks = 8,
         .scale_words = 12, .table = gi_iq3_s_grid, .table_words = 256);
