// MXFP4 as in the file: blocks of 32 elements in 17 bytes; element i = 2^(e - 128) * code[q[i]],
// twice the values of E2M1 at half their scale.
//
//   byte   0       1            2            ..   16
//          e       q[0]  low    q[1]  low         q[15] low
//          uint8   q[16] high   q[17] high        q[31] high   nibble
//
// https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf
#include "quant/quant_table.h"

#include <math.h>

#define BLOCK_BYTES 17

const int8_t gi_e2m1_codes[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    struct gi_quants quants;
    gi_read_nibbles(block + 1, &quants);
    gi_scale_codes(&quants, gi_e2m1_codes, ldexpf(1, block[0] - 128), dst);
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t i = 0; i < n / GI_QUANT_BLOCK; i++, src += BLOCK_BYTES) {
        struct gi_quants quants;
        gi_read_nibbles(src + 1, &quants);
        gi_pack_nibbles(&quants, quads[i]);
        words[0] |= (uint32_t)src[0] << 8 * i;
    }
}

GI_QUANT(MXFP4, mxfp4, repack_group, .quad_blocks = 1, .n_quad = 1, .scale_blocks = 4,
         .scale_words = 1);
