// F16 as in the file: 2 bytes an element, IEEE 754 half, little-endian.
#include "quant/quant_table.h"

static void dequantize_row(const void *src, size_t n_cols, float *dst)
{
    const uint8_t *elements = src;
    for (size_t i = 0; i < n_cols; i++) {
        dst[i] = gi_half_to_float(gi_load_u16(elements + 2 * i));
    }
}

const struct gi_quant gi_quant_f16 = {
    .type = GI_GGML_TYPE_F16,
    .quad_blocks = 1,
    .n_quad = 4,
    .dequantize_row = dequantize_row,
    .repack_group = gi_repack_halves,
};
