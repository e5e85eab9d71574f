// BF16 as in the file: 2 bytes an element, the upper half of an IEEE 754 single, little-endian.
#include "quant/quant_table.h"

#include <string.h>

static void dequantize_row(const void *src, size_t n_cols, float *dst)
{
    const uint8_t *elements = src;
    for (size_t i = 0; i < n_cols; i++) {
        uint32_t bits = (uint32_t)gi_load_u16(elements + 2 * i) << 16;
        memcpy(dst + i, &bits, sizeof(bits));
    }
}

const struct gi_quant gi_quant_bf16 = {
    .type = GI_GGML_TYPE_BF16,
    .quad_blocks = 1,
    .n_quad = 4,
    .dequantize_row = dequantize_row,
    .repack_group = gi_repack_halves,
};
