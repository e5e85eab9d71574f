// IQ1_M as in the file: super-blocks of 256 elements, 8 blocks of 32, in 56 bytes; eight elements
// are d * (1 + 2 scale) times a point of the grid moved by an eighth.
//
//   byte   0 .. 31            32 .. 47                        48 .. 55
//          low 8 bits of 32   a nibble a point: high 3        four words of 16 bits: scales of 16
//          points             bits; top bit: the eighth is    elements, 3 bits each; top four bits:
//                             taken away                      a digit of d, f16, the lowest first
#include "quant/iq/iq_grids.h"

static float read_d(const uint8_t *super)
{
    unsigned bits = 0;
    for (size_t i = 0; i < 4; i++) {
        bits |= (unsigned)(gi_load_u16(super + 48 + 2 * i) >> 12) << 4 * i;
    }
    return gi_half_to_float((uint16_t)bits);
}

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const unsigned scales = gi_load_u16(super + 48 + block / 2 * 2) >> 6 * (block % 2);
    const unsigned nibbles = gi_load_u16(super + 32 + 2 * block);
    for (size_t i = 0; i < 4; i++) {
        const unsigned nibble = nibbles >> 4 * i & 15;
        const unsigned point = super[4 * block + i] | (nibble & 7) << 8;
        const float scale = (float)(1 + 2 * (scales >> 3 * (i / 2) & 7));
        gi_iq1_weights(gi_grid_point(gi_iq1_s_grid, point), nibble & 8 ? -0.125f : 0.125f,
                       read_d(super) * scale, dst + 8 * i);
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    words[0] = gi_load_u32(src + 48);
    words[1] = gi_load_u32(src + 52);
    for (size_t i = 0; i < 12; i++) {
        quads[i / 4][i % 4] = gi_load_u32(src + 4 * i);
    }
}

GI_QUANT(IQ1_M, iq1_m, repack_group, .quad_blocks = 8, .n_quad = 3, .scale_blocks = 8,
         .scale_words = 2, .table = gi_iq1_s_grid, .table_words = 1024);
