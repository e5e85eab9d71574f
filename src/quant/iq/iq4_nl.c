// IQ4_NL as in the file: blocks of 32 elements in 18 bytes; element i = d * code[q[i]], where code
// is gi_iq4_codes.
//
//   byte   0 1   2            3            ..   17
//          d     q[0]  low    q[1]  low         q[15] low
//          f16   q[16] high   q[17] high        q[31] high   nibble
#include "quant/quant_table.h"

const int8_t gi_iq4_codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    struct gi_quants quants;
    gi_read_nibbles(block + 2, &quants);
    gi_scale_codes(&quants, gi_iq4_codes, gi_load_half(block), dst);
}

GI_QUANT(IQ4_NL, iq4_nl, gi_repack_half_and_nibbles, .quad_blocks = 1, .n_quad = 1,
         .scale_blocks = 2, .scale_words = 1);
