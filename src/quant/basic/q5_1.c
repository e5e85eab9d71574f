// Q5_1 as in the file: blocks of 32 elements in 24 bytes; element i = d * q[i] + m.
//
//   byte   0 1   2 3   4 .. 7                8            9            ..   23
//          d     m     bit i of the word     q[0]  low    q[1]  low         q[15] low
//          f16   f16   is bit 4 of q[i]      q[16] high   q[17] high        q[31] high   nibble
#include "quant/quant_table.h"

static void read_quants(const uint8_t *block, struct gi_quants *quants)
{
    gi_read_nibbles(block + 8, quants);
    gi_add_bits(gi_load_u32(block + 4), 4, quants);
}

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    const float d = gi_load_half(block), m = gi_load_half(block + 2);
    struct gi_quants quants;
    read_quants(block, &quants);
    gi_scale_quants(&quants, 0, (float[]){d, d}, (float[]){m, m}, dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    struct gi_quants quants;
    read_quants(src, &quants);
    gi_pack_nibbles(&quants, quads[0]);
    words[0] = gi_load_u32(src);
    words[1] = gi_pack_bits(&quants, 4);
}

GI_QUANT(Q5_1, q5_1, repack_group, .quad_blocks = 1, .n_quad = 1, .scale_blocks = 1,
         .scale_words = 2, .has_eights = true);
