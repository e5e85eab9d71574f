// TQ2_0 as in the file: super-blocks of 256 elements, 8 blocks of 32, in 66 bytes; element i of
// block b = d * (q[i] - 1).
//
//   byte   0 .. 31                 32 .. 63               64 65
//          q of blocks 0, 1, 2,    of blocks 4, 5, 6, 7   d
//          3, two bits each                               f16
#include "quant/quant_table.h"

#define BLOCK_BYTES 66

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const float d = gi_load_half(super + 64);
    struct gi_quants quants;
    gi_read_fields(super + block / 4 * 32, 2 * (block % 4), 3, &quants);
    gi_scale_quants(&quants, 1, (float[]){d, d}, (float[]){0, 0}, dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t b = 0; b < n / GI_QUANT_BLOCK; b++) {
        const uint8_t *super = src + b / 8 * BLOCK_BYTES;
        struct gi_quants quants;
        gi_read_fields(super + (b % 8) / 4 * 32, 2 * (b % 4), 3, &quants);
        gi_pack_pairs(&quants, 0, quads[b / 2] + b % 2 * 2);
        words[0] |= b % 8 == 0 ? (uint32_t)gi_load_u16(super + 64) << 2 * b : 0;
    }
}

GI_QUANT(TQ2_0, tq2_0, repack_group, .quad_blocks = 8, .n_quad = 4, .scale_blocks = 16,
         .scale_words = 1);
