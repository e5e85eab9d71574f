// Q5_K as in the file: super-blocks of 256 elements, 8 blocks of 32, in 176 bytes; element i of
// block b = d * scale[b] * q[i] - d_min * min[b].
//
//   byte   0 1   2 3     4 .. 15      16 .. 47                48 .. 79          80 .. 111   .. 175
//          d     d_min   scale, min   bit b of byte i         block 0: q low,   2 low,      6 low,
//          f16   f16     of 6 bits    is bit 4 of q[i] of b   1 high nibble     3 high      7 high
//
// The scales and minima lie as k_scales.c shows them.
#include "quant/quant_table.h"

static void read_quants(const uint8_t *super, size_t block, struct gi_quants *quants)
{
    for (size_t i = 0; i < 4; i++) {
        uint64_t eight = gi_load_u64(super + 48 + block / 2 * 32 + 8 * i);
        quants->eight[i] = eight >> 4 * (block % 2) & 0x0F0F0F0F0F0F0F0Fu;
        uint64_t high = gi_load_u64(super + 16 + 8 * i);
        quants->eight[i] |= (high >> block & 0x0101010101010101u) << 4;
    }
}

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    struct gi_quants quants;
    read_quants(super, block, &quants);
    gi_scale_k(super, block, &quants, dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    (void)n;
    struct gi_k_scales scales;
    gi_read_k_scales(src + 4, &scales);
    quads[0][0] = gi_load_u32(src);
    gi_pack_k_scales(&scales, quads[0] + 1);
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        struct gi_quants quants;
        read_quants(src, b, &quants);
        gi_pack_nibbles(&quants, quads[1 + b]);
        words[b] = gi_pack_bits(&quants, 4);
    }
}

GI_QUANT(Q5_K, q5_k, repack_group, .quad_blocks = 8, .n_quad = 9, .scale_blocks = 8,
         .scale_words = 8, .has_eights = true);
