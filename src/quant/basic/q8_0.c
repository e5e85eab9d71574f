// Q8_0 as in the file: blocks of 32 elements in 34 bytes; element i = d * q[i].
//
//   byte   0 1   2 .. 33
//          d     q[0] .. q[31]
//          f16   int8
#include "quant/quant_table.h"

#define BLOCK_BYTES 34

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    float d = gi_half_to_float(gi_load_u16(block));
    for (size_t j = 0; j < GI_QUANT_BLOCK; j++) {
        dst[j] = d * (float)(int8_t)block[2 + j];
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t i = 0; i < n / GI_QUANT_BLOCK; i++, src += BLOCK_BYTES) {
        for (size_t j = 0; j < 8; j++) {
            quads[2 * i + j / 4][j % 4] = gi_load_u32(src + 2 + 4 * j);
        }
        words[0] |= (uint32_t)gi_load_u16(src) << 16 * i;
    }
}

GI_QUANT(Q8_0, q8_0, repack_group, .quad_blocks = 1, .n_quad = 2, .scale_blocks = 2,
         .scale_words = 1, .has_f16 = true, .has_eights = true, .has_words = true);
