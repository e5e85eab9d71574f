// TQ1_0 as in the file: super-blocks of 256 elements, 8 blocks of 32, in 54 bytes; element i of
// block b = d * (t[i] - 1). A byte holds five digits of base 3 as a fraction: byte = ceil(256 n /
// 243) for the number n with the digits t; multiplying by 3^j modulo 256 brings digit j to the top,
// where 3 * byte / 256 is it.
//
//   byte   0 .. 31                  32 .. 47                          48 .. 51               52 53
//          digit j of byte i is     digit j of byte i is element      of digit j of byte i   d
//          element 32 j + i         160 + 16 j + i                    240 + 4 j + i, j < 4   f16
#include "quant/quant_table.h"

#define BLOCK_BYTES 54

static uint8_t digit_at(uint8_t byte, size_t digit)
{
    static const uint8_t powers[] = {1, 3, 9, 27, 81};
    return (uint8_t)((uint8_t)(byte * powers[digit]) * 3 >> 8);
}

static float trit(const uint8_t *super, size_t i)
{
    uint8_t digit = i < 160   ? digit_at(super[i % 32], i / 32)
                    : i < 240 ? digit_at(super[32 + i % 16], (i - 160) / 16)
                              : digit_at(super[48 + i % 4], (i - 240) / 4);
    return (float)(digit - 1);
}

static void dequantize(const uint8_t *super, size_t block, float *dst)
{
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        dst[i] = gi_load_half(super + 52) * trit(super, block * GI_QUANT_BLOCK + i);
    }
}

// Keeps the bytes as they are: any other cut into blocks of 32 takes more of them.
static void repack_group(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t s = 0; s < n / GI_SUPER_BLOCK; s++, src += BLOCK_BYTES) {
        for (size_t i = 0; i < 12; i++) {
            quads[3 * s + i / 4][i % 4] = gi_load_u32(src + 4 * i);
        }
        words[0] |= (uint32_t)gi_load_u16(src + 52) << 16 * s;
        words[1 + s] = gi_load_u32(src + 48);
    }
}

GI_QUANT(TQ1_0, tq1_0, repack_group, .quad_blocks = 8, .n_quad = 3, .scale_blocks = 16,
         .scale_words = 3);
