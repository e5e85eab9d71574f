// Q8_M: blocks of 32 elements in 36 bytes; element i = d * q[i] + m. No file has it: weights of
// SafeTensors that have a minimum and more than five bits become it.
//
//   byte   0 1   2 3   4 .. 35
//          d     m     q[0] .. q[31]
//          f16   f16   uint8
#include "quant/quant_table.h"

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    const float d = gi_load_half(block), m = gi_load_half(block + 2);
    for (size_t j = 0; j < GI_QUANT_BLOCK; j++) {
        dst[j] = d * (float)block[4 + j] + m;
    }
}

// d and m lie in the block as the scale word wants them: d low, m high.
static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    for (size_t j = 0; j < 8; j++) {
        quads[j / 4][j % 4] = gi_load_u32(src + 4 + 4 * j);
    }
    words[0] = gi_load_u32(src);
}

GI_QUANT(Q8_M, q8_m, repack_group, .quad_blocks = 1, .n_quad = 2, .scale_blocks = 1,
         .scale_words = 1, .has_f16 = true, .has_eights = true);
