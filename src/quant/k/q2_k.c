// Q2_K as in the file: super-blocks of 256 elements, 8 blocks of 32, in 84 bytes; element i of
// block b = d * scale[2 b + i / 16] * q[i] - d_min * min[2 b + i / 16].
//
//   byte   0 .. 15             16 .. 47              48 .. 79     80 81   82 83
//          scale low,          q of blocks 0, 1,     of blocks    d       d_min
//          min high nibble     2, 3, two bits each   4, 5, 6, 7   f16     f16
#include "quant/quant_table.h"

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    const float d = gi_load_half(super + 80), d_min = gi_load_half(super + 82);
    const uint8_t *s = super + 2 * block;
    struct gi_quants quants;
    gi_read_fields(super + 16 + block / 4 * 32, 2 * (block % 4), 3, &quants);
    gi_scale_quants(&quants, 0, (float[]){d * (float)(s[0] & 15), d * (float)(s[1] & 15)},
                    (float[]){-d_min * (float)(s[0] >> 4), -d_min * (float)(s[1] >> 4)}, dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    words[0] = gi_load_u32(src + 80);
    for (size_t i = 0; i < 4; i++) {
        words[1 + i] = gi_load_u32(src + 4 * i);
    }
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        struct gi_quants quants;
        gi_read_fields(src + 16 + b / 4 * 32, 2 * (b % 4), 3, &quants);
        gi_pack_pairs(&quants, 0, quads[b / 2] + b % 2 * 2);
    }
}

GI_QUANT(Q2_K, q2_k, repack_group, .quad_blocks = 8, .n_quad = 4, .scale_blocks = 8,
         .scale_words = 5, .has_eights = true);
