// NVFP4 as in the file: blocks of 64 elements in 36 bytes, four scales s in E4M3 for 16 elements
// each; element i = s[i / 16] / 2 * code[q[i]], twice the values of E2M1 at half their scale.
//
//   byte   0 .. 3         4            ..   11           12 .. 35
//          s[0] .. s[3]   q[0] low          q[7]  low    q[16] .. q[63] alike
//          uint8          q[8] high         q[15] high   nibble
//
// Bit 7 of a scale has no meaning; 0x7F, E4M3's NaN, stands for 0 as in ggml.
#include "quant/quant_table.h"

#include <math.h>

enum { BLOCK_BYTES = 36, NO_NUMBER = 0x7F };

static float half_of_e4m3(uint8_t s)
{
    const int exponent = s >> 3 & 15, mantissa = s & 7;
    if (s == NO_NUMBER) {
        return 0.0f;
    }
    return exponent ? ldexpf((float)(8 + mantissa), exponent - 11) : ldexpf((float)mantissa, -10);
}

// Reads the quants of a half of a block.
static void read_quants(const uint8_t *bytes, struct gi_quants *quants)
{
    for (size_t i = 0; i < 2; i++) {
        const uint64_t eight = gi_load_u64(bytes + 8 * i);
        quants->eight[2 * i] = eight & 0x0F0F0F0F0F0F0F0Fu;
        quants->eight[2 * i + 1] = eight >> 4 & 0x0F0F0F0F0F0F0F0Fu;
    }
}

static void dequantize(const uint8_t *block, size_t part, float *dst)
{
    struct gi_quants quants;
    read_quants(block + 4 + 16 * part, &quants);
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        dst[i] =
            half_of_e4m3(block[2 * part + i / 16]) * (float)gi_e2m1_codes[gi_quant_at(&quants, i)];
    }
}

static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t b = 0; b < n / GI_QUANT_BLOCK; b++) {
        struct gi_quants quants;
        read_quants(src + b / 2 * BLOCK_BYTES + 4 + b % 2 * 16, &quants);
        gi_pack_nibbles(&quants, quads[b]);
    }
    for (size_t i = 0; i < n / 16; i++) {
        const uint8_t s = src[i / 4 * BLOCK_BYTES + i % 4];
        words[i / 4] |= (uint32_t)(s == NO_NUMBER ? 0 : s) << 8 * (i % 4);
    }
}

GI_QUANT(NVFP4, nvfp4, repack_group, .quad_blocks = 1, .n_quad = 1, .scale_blocks = 8,
         .scale_words = 5, .factor_word = 4);
