// Q5_0 as in the file: blocks of 32 elements in 22 bytes; element i = d * (q[i] - 16).
//
//   byte   0 1   2 .. 5                6            7            ..   21
//          d     bit i of the word     q[0]  low    q[1]  low         q[15] low
//          f16   is bit 4 of q[i]      q[16] high   q[17] high        q[31] high   nibble
#include "quant/quant_table.h"

#define BLOCK_BYTES 22

static void read_quants(const uint8_t *block, struct gi_quants *quants)
{
    gi_read_nibbles(block + 6, quants);
    gi_add_bits(gi_load_u32(block + 2), 4, quants);
}

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    const float d = gi_load_half(block);
    struct gi_quants quants;
    read_quants(block, &quants);
    gi_scale_quants(&quants, 16, (float[]){d, d}, (float[]){0, 0}, dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t i = 0; i < n / GI_QUANT_BLOCK; i++, src += BLOCK_BYTES) {
        struct gi_quants quants;
        read_quants(src, &quants);
        gi_pack_nibbles(&quants, quads[i]);
        words[0] |= (uint32_t)gi_load_u16(src) << 16 * i;
        words[1 + i] = gi_pack_bits(&quants, 4);
    }
}

GI_QUANT(Q5_0, q5_0, repack_group, .quad_blocks = 1, .n_quad = 1, .scale_blocks = 2,
         .scale_words = 3, .has_eights = true);
