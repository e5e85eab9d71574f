// Q1_0 as in the file: blocks of 128 elements, 4 blocks of 32, in 18 bytes; element i = d if bit i
// is set, else -d.
//
//   byte   0 1   2               ..   17
//          d     bits 0 .. 7          bits 120 .. 127
//          f16
#include "quant/quant_table.h"

#define BLOCK_SIZE  128
#define BLOCK_BYTES 18

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    const float d = gi_load_half(block);
    const uint32_t bits = gi_load_u32(block + 2 + 4 * part);
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        dst[i] = bits >> i & 1 ? d : -d;
    }
}

// Packs 16 chunks of eight elements: bit p + 16 h of word i is of element 4 h + i of chunk p.
static void pack_chunks(const uint8_t bits[16], uint32_t words[4])
{
    for (size_t p = 0; p < 16; p++) {
        for (size_t i = 0; i < 8; i++) {
            words[i % 4] |= (uint32_t)(bits[p] >> i & 1) << (p + i / 4 * 16);
        }
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t i = 0; i < n / BLOCK_SIZE; i++, src += BLOCK_BYTES) {
        pack_chunks(src + 2, quads[i]);
        words[0] |= (uint32_t)gi_load_u16(src) << 16 * i;
    }
}

GI_QUANT(Q1_0, q1_0, repack_group, .quad_blocks = 4, .n_quad = 1, .scale_blocks = 8,
         .scale_words = 1, .has_f16 = true, .has_fours = true);
