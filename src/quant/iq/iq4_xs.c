// IQ4_XS as in the file: super-blocks of 256 elements, 8 blocks of 32, in 136 bytes; element i of
// block b = d * (scale[b] - 32) * code[q[i]], where code is gi_iq4_codes.
//
//   byte   0 1   2 3                4 .. 7            8            9        .. 23          24 ..
//          d     bits 2 b, 2 b + 1  nibble b:         q[0]  low    q[1]  low   q[15] low   blocks
//          f16   high of scale[b]   low of scale[b]   q[16] high   q[17] high  q[31] high  1 .. 7
#include "quant/quant_table.h"

static int read_scale(const uint8_t *super, size_t block)
{
    const unsigned low = super[4 + block / 2] >> 4 * (block % 2) & 15u;
    const unsigned high = gi_load_u16(super + 2) >> 2 * block & 3u;
    return (int)(low | high << 4) - 32;
}

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    struct gi_quants quants;
    gi_read_nibbles(super + 8 + 16 * block, &quants);
    gi_scale_codes(&quants, gi_iq4_codes, gi_load_half(super) * (float)read_scale(super, block),
                   dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    words[0] = gi_load_u32(src);
    words[1] = gi_load_u32(src + 4);
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        struct gi_quants quants;
        gi_read_nibbles(src + 8 + 16 * b, &quants);
        gi_pack_nibbles(&quants, quads[b]);
    }
}

GI_QUANT(IQ4_XS, iq4_xs, repack_group, .quad_blocks = 8, .n_quad = 8, .scale_blocks = 8,
         .scale_words = 2);
