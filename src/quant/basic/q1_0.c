// Q1_0 as in the file: blocks of 128 elements, 4 blocks of 32, in 18 bytes; element i = d if bit i
// is set, else -d.
//
//   byte   0 1   2               ..   17
//          d     bits 0 .. 7          bits 120 .. 127
//          f16
#include "quant/quant_table.h"

#define BLOCK_BYTES 18

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    const float d = gi_load_half(block);
    const uint32_t bits = gi_load_u32(block + 2 + 4 * part);
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        dst[i] = bits >> i & 1 ? d : -d;
    }
}

// Returns 32 bits as nibbles would lie (quant.h), bit 0 of a nibble from the first eight elements,
// bit 1 from the next.
static uint32_t pack_bits(uint32_t bits)
{
    struct gi_quants quants = {{0}};
    uint32_t words[4];
    gi_add_bits(bits, 0, &quants);
    gi_pack_nibbles(&quants, words);
    return words[0] | words[1] << 1 | words[2] << 2 | words[3] << 3;
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t b = 0; b < n / GI_QUANT_BLOCK; b++) {
        const uint8_t *block = src + b / 4 * BLOCK_BYTES;
        quads[b / 4][b % 4] = pack_bits(gi_load_u32(block + 2 + b % 4 * 4));
        words[0] |= b % 4 == 0 ? (uint32_t)gi_load_u16(block) << 4 * b : 0;
    }
}

GI_QUANT(Q1_0, q1_0, repack_group, .quad_blocks = 4, .n_quad = 1, .scale_blocks = 8,
         .scale_words = 1);
