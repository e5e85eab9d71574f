// Q4_0 as in the file: blocks of 32 elements in 18 bytes; element i = d * (q[i] - 8).
//
//   byte   0 1   2            3            ..   17
//          d     q[0]  low    q[1]  low         q[15] low
//          f16   q[16] high   q[17] high        q[31] high   nibble
#include "quant/quant_table.h"

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    float d = gi_half_to_float(gi_load_u16(block));
    for (size_t j = 0; j < 16; j++) {
        dst[j] = d * (float)((block[2 + j] & 0xF) - 8);
        dst[j + 16] = d * (float)((block[2 + j] >> 4) - 8);
    }
}

GI_QUANT(Q4_0, q4_0, gi_repack_half_and_nibbles, .quad_blocks = 1, .n_quad = 1, .scale_blocks = 2,
         .scale_words = 1, .has_f16 = true, .has_eights = true, .has_words = true);
