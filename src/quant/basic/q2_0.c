// Q2_0 as in the file: blocks of 64 elements, 2 blocks of 32, in 18 bytes; element i = d * (q[i] -
// 1).
//
//   byte   0 1   2                 ..   17
//          d     q[0] .. q[3]           q[60] .. q[63]
//          f16   two bits each, the first low
#include "quant/quant_table.h"

#define BLOCK_BYTES 18

// Reads the quants of a half of a block.
static void read_quants(const uint8_t *bytes, struct gi_quants *quants)
{
    *quants = (struct gi_quants){{0}};
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        quants->eight[i / 8] |= (uint64_t)(bytes[i / 4] >> 2 * (i % 4) & 3) << 8 * (i % 8);
    }
}

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    const float d = gi_load_half(block);
    struct gi_quants quants;
    read_quants(block + 2 + 8 * part, &quants);
    gi_scale_quants(&quants, 1, (float[]){d, d}, (float[]){0, 0}, dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t b = 0; b < n / GI_QUANT_BLOCK; b++) {
        const uint8_t *block = src + b / 2 * BLOCK_BYTES;
        struct gi_quants quants;
        read_quants(block + 2 + b % 2 * 8, &quants);
        gi_pack_pairs(&quants, 0, quads[b / 2] + b % 2 * 2);
        words[0] |= b % 2 == 0 ? (uint32_t)gi_load_u16(block) << 8 * b : 0;
    }
}

GI_QUANT(Q2_0, q2_0, repack_group, .quad_blocks = 2, .n_quad = 1, .scale_blocks = 4,
         .scale_words = 1, .has_eights = true);
