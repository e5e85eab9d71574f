// Q3_K as in the file: super-blocks of 256 elements, 8 blocks of 32, in 110 bytes; element i of
// block b = d * (scale[2 b + i / 16] - 32) * (q[i] - 4).
//
//   byte   0 .. 31                 32 .. 63              64 .. 95     96 .. 107      108 109
//          bit b of byte i is      q of blocks 0, 1,     of blocks    scales,        d
//          bit 2 of q[i] of b      2, 3, two bits each   4, 5, 6, 7   6 bits each    f16
//
// The low four bits of scales 0 .. 7 are the low nibbles of 8 bytes, those of 8 .. 15 the high
// ones; four more bytes hold the high two bits of scales j, 4 + j, 8 + j and 12 + j, the first
// lowest.
#include "quant/quant_table.h"

static void read_quants(const uint8_t *super, size_t block, struct gi_quants *quants)
{
    for (size_t i = 0; i < 4; i++) {
        uint64_t pairs = gi_load_u64(super + 32 + block / 4 * 32 + 8 * i) >> 2 * (block % 4);
        uint64_t high = gi_load_u64(super + 8 * i) >> block;
        quants->eight[i] = (pairs & 0x0303030303030303u) | (high & 0x0101010101010101u) << 2;
    }
}

static uint8_t read_scale(const uint8_t *bytes, size_t i)
{
    const unsigned low = bytes[i % 8] >> 4 * (i / 8) & 15u;
    const unsigned high = bytes[8 + i % 4] >> 2 * (i / 4) & 3u;
    return (uint8_t)(low | high << 4);
}

static void read_scales(const uint8_t *super, struct gi_k_scales *scales)
{
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        scales->first[b] = read_scale(super + 96, 2 * b);
        scales->second[b] = read_scale(super + 96, 2 * b + 1);
    }
}

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const float d = gi_load_half(super + 108);
    const int first = read_scale(super + 96, 2 * block) - 32;
    const int second = read_scale(super + 96, 2 * block + 1) - 32;
    struct gi_quants quants;
    read_quants(super, block, &quants);
    gi_scale_quants(&quants, 4, (float[]){d * (float)first, d * (float)second}, (float[]){0, 0},
                    dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    struct gi_k_scales scales;
    read_scales(src, &scales);
    quads[0][0] = gi_load_u16(src + 108);
    gi_pack_k_scales(&scales, quads[0] + 1);
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        struct gi_quants quants;
        read_quants(src, b, &quants);
        gi_pack_pairs(&quants, 0, quads[1 + b / 2] + b % 2 * 2);
        words[b] = gi_pack_bits(&quants, 2);
    }
}

GI_QUANT(Q3_K, q3_k, repack_group, .quad_blocks = 8, .n_quad = 5, .scale_blocks = 8,
         .scale_words = 8, .has_eights = true, .is_wide = true);
