// Q4_K as in the file: super-blocks of 256 elements, 8 blocks of 32, in 144 bytes; element i of
// block b = d * scale[b] * q[i] - d_min * min[b].
//
//   byte   0 1   2 3     4 .. 15       16 .. 47            48 .. 79     ..    143
//          d     d_min   scale, min    q of block 0 low,   2 low,       6 low,
//          f16   f16     of 6 bits     1 high nibble       3 high       7 high
//
// The scales and minima lie as k_scales.c shows them.
#include "quant/quant_table.h"

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    struct gi_quants quants;
    gi_read_fields(super + 16 + block / 2 * 32, 4 * (block % 2), 15, &quants);
    gi_scale_k(super, block, &quants, dst);
}

static void
repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4],
             uint32_t *words) // NOLINT(readability-non-const-parameter): as in the table
{
    (void)n;
    (void)words;
    struct gi_k_scales scales;
    gi_read_k_scales(src + 4, &scales);
    quads[0][0] = gi_load_u32(src);
    gi_pack_k_scales(&scales, quads[0] + 1);
    for (size_t b = 0; b < GI_SUPER_BLOCKS; b++) {
        struct gi_quants quants;
        gi_read_fields(src + 16 + b / 2 * 32, 4 * (b % 2), 15, &quants);
        gi_pack_nibbles(&quants, quads[1 + b]);
    }
}

GI_QUANT(Q4_K, q4_k, repack_group, .quad_blocks = 8, .n_quad = 9, .has_f16 = true,
         .has_eights = true, .has_words = true);
