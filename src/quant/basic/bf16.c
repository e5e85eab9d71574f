// BF16 as in the file: 2 bytes an element, the upper half of an IEEE 754 single, little-endian.
#include "quant/quant_table.h"

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    *dst = gi_bf16_to_float(gi_load_u16(block));
}

GI_QUANT(BF16, bf16, gi_repack_halves, .quad_blocks = 1, .n_quad = 4);
