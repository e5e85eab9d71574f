// Q4_1 as in the file: blocks of 32 elements in 20 bytes; element i = d * q[i] + m.
//
//   byte   0 1   2 3   4            5            ..   19
//          d     m     q[0]  low    q[1]  low         q[15] low
//          f16   f16   q[16] high   q[17] high        q[31] high   nibble
#include "quant/quant_table.h"

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    float d = gi_half_to_float(gi_load_u16(block));
    float m = gi_half_to_float(gi_load_u16(block + 2));
    for (size_t j = 0; j < 16; j++) {
        dst[j] = d * (float)(block[4 + j] & 0xF) + m;
        dst[j + 16] = d * (float)(block[4 + j] >> 4) + m;
    }
}

// d and m lie in the file as the scale word wants them: d low, m high.
static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    struct gi_quants quants;
    gi_read_nibbles(src + 4, &quants);
    gi_pack_nibbles(&quants, quads[0]);
    words[0] = gi_load_u32(src);
}

GI_QUANT(Q4_1, q4_1, repack_group, .quad_blocks = 1, .n_quad = 1, .scale_blocks = 1,
         .scale_words = 1, .has_f16 = true, .has_eights = true, .has_words = true);
