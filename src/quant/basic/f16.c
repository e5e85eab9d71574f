// F16 as in the file: 2 bytes an element, IEEE 754 half, little-endian.
#include "quant/quant_table.h"

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    dst[0] = gi_half_to_float(gi_load_u16(block));
}

GI_QUANT(F16, f16, gi_repack_halves, .quad_blocks = 1, .n_quad = 4);
