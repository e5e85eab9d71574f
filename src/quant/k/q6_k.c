// Q6_K as in the file: super-blocks of 256 elements, 8 blocks of 32, in 210 bytes; element i of
// block b = d * scale[2 b + i / 16] * (q[i] - 32).
//
//   byte   0 .. 31        32 .. 63   64 .. 95   96 .. 127   128 .. 159            160 .. 191
//          q of block 0   1 low      4 low      5 low       bits 4, 5 of q of     of blocks
//          low, 2 high    3 high     6 high     7 high      blocks 0, 1, 2, 3     4, 5, 6, 7
//          nibble                                           two bits, 0 lowest
//
//   byte   192 .. 207   208 209
//          scale int8   d f16
#include "quant/quant_table.h"

static void read_quants(const uint8_t *super, size_t block, struct gi_quants *quants)
{
    const uint8_t *low = super + block / 4 * 64 + block % 2 * 32;
    const uint8_t *high = super + 128 + block / 4 * 32;
    for (size_t i = 0; i < 4; i++) {
        uint64_t nibbles = gi_load_u64(low + 8 * i) >> 4 * (block / 2 % 2);
        uint64_t pairs = gi_load_u64(high + 8 * i) >> 2 * (block % 4);
        quants->eight[i] = (nibbles & 0x0F0F0F0F0F0F0F0Fu) | (pairs & 0x0303030303030303u) << 4;
    }
}

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const float d = gi_load_half(super + 208);
    const int first = (int8_t)super[192 + 2 * block], second = (int8_t)super[193 + 2 * block];
    struct gi_quants quants;
    read_quants(super, block, &quants);
    gi_scale_quants(&quants, 32, (float[]){d * (float)first, d * (float)second}, (float[]){0, 0},
                    dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    words[0] = gi_load_u16(src + 208);
    for (size_t i = 0; i < 4; i++) {
        words[1 + i] = gi_load_u32(src + 192 + 4 * i);
    }
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        struct gi_quants quants;
        read_quants(src, b, &quants);
        gi_pack_nibbles(&quants, quads[b]);
        gi_pack_pairs(&quants, 4, quads[8 + b / 2] + b % 2 * 2);
    }
}

GI_QUANT(Q6_K, q6_k, repack_group, .quad_blocks = 8, .n_quad = 12, .scale_blocks = 8,
         .scale_words = 5, .has_eights = true, .is_wide = true);
