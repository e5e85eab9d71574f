// F32 as in the file: 4 bytes an element, IEEE 754 single, little-endian.
#include "quant/quant_table.h"

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    (void)part;
    dst[0] = gi_load_f32(block);
}

static void
repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4],
             uint32_t *words) // NOLINT(readability-non-const-parameter): as in the table
{
    (void)words;
    for (size_t i = 0; i < n; i++) {
        quads[i / 4][i % 4] = gi_load_u32(src + 4 * i);
    }
}

GI_QUANT(F32, f32, repack_group, .quad_blocks = 1, .n_quad = 8);
