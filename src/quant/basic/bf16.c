// BF16 as in the file: 2 bytes an element, the upper half of an IEEE 754 single, little-endian.
#include "quant/quant_table.h"

#include <string.h>

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    uint32_t bits = (uint32_t)gi_load_u16(block) << 16;
    memcpy(dst, &bits, sizeof(bits));
}

const struct gi_quant gi_quant_bf16 = {
    .type = GI_GGML_TYPE_BF16,
    .quad_blocks = 1,
    .n_quad = 4,
    .dequantize = dequantize,
    .repack_group = gi_repack_halves,
};
