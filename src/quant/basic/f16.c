// F16 as in the file: 2 bytes an element, IEEE 754 half, little-endian.
#include "quant/quant_table.h"

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    dst[0] = gi_half_to_float(gi_load_u16(block));
}

const struct gi_quant gi_quant_f16 = {
    .type = GI_GGML_TYPE_F16,
    .quad_blocks = 1,
    .n_quad = 4,
    .dequantize = dequantize,
    .repack_group = gi_repack_halves,
};
