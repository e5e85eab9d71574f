#include "tests/ref/ref_quant.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

double ref_half(unsigned bits)
{
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    int e = (bits >> 10) & 31;
    double m = (bits & 1023) / 1024.0;
    if (e == 31) {
        return m > 0 ? NAN : sign * INFINITY;
    }
    return e == 0 ? sign * ldexp(m, -14) : sign * ldexp(1.0 + m, e - 15);
}

static double half_at(const uint8_t *bytes)
{
    return ref_half(bytes[0] + 256u * bytes[1]);
}

// Quant i of 32 in 16 bytes: the first half in the low nibbles, the second in the high ones.
static double nibble_at(const uint8_t *bytes, size_t i)
{
    return i < 16 ? bytes[i] % 16 : bytes[i - 16] / 16; // NOLINT(bugprone-integer-division)
}

static double element_f32(const uint8_t *row, size_t i)
{
    float value;
    memcpy(&value, row + 4 * i, 4);
    return value;
}

static double element_f16(const uint8_t *row, size_t i)
{
    return half_at(row + 2 * i);
}

static double element_q4_0(const uint8_t *row, size_t i)
{
    const uint8_t *block = row + i / 32 * 18;
    return half_at(block) * (nibble_at(block + 2, i % 32) - 8.0);
}

static double element_q4_1(const uint8_t *row, size_t i)
{
    const uint8_t *block = row + i / 32 * 20;
    return half_at(block) * nibble_at(block + 4, i % 32) + half_at(block + 2);
}

static double element_q8_0(const uint8_t *row, size_t i)
{
    const uint8_t *block = row + i / 32 * 34;
    int byte = block[2 + i % 32];
    return half_at(block) * (byte < 128 ? byte : byte - 256);
}

static double element_bf16(const uint8_t *row, size_t i)
{
    uint8_t bytes[4] = {0, 0, row[2 * i], row[2 * i + 1]};
    return element_f32(bytes, 0);
}

// Bit i of a run of bytes, the first low.
static int bit_at(const uint8_t *bytes, size_t i)
{
    return bytes[i / 8] >> i % 8 & 1;
}

static double element_q5_0(const uint8_t *row, size_t i)
{
    const uint8_t *block = row + i / 32 * 22;
    double q = nibble_at(block + 6, i % 32) + 16 * bit_at(block + 2, i % 32);
    return half_at(block) * (q - 16.0);
}

static double element_q5_1(const uint8_t *row, size_t i)
{
    const uint8_t *block = row + i / 32 * 24;
    double q = nibble_at(block + 8, i % 32) + 16 * bit_at(block + 4, i % 32);
    return half_at(block) * q + half_at(block + 2);
}

//-- super-blocks of 256; j counts in them ---------------------------------------------------------

static double element_q2_k(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 84;
    size_t j = i % 256;
    int scale = super[j / 16] & 15, min = super[j / 16] >> 4;
    int q = super[16 + j / 128 * 32 + j % 32] >> 2 * (j % 128 / 32) & 3;
    return half_at(super + 80) * scale * q - half_at(super + 82) * min;
}

static double element_q3_k(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 110, *scales = super + 96;
    size_t j = i % 256, n = j / 16;
    int low = n < 8 ? scales[n] % 16 : scales[n - 8] / 16;
    int scale = low + 16 * (scales[8 + n % 4] >> 2 * (n / 4) & 3);
    int q = super[32 + j / 128 * 32 + j % 32] >> 2 * (j % 128 / 32) & 3;
    int high = super[j % 32] >> j / 32 & 1;
    return half_at(super + 108) * (scale - 32) * (q + 4 * high - 4);
}

// Scale (first) or minimum of block b of Q4_K and Q5_K.
static int k_scale_at(const uint8_t *bytes, size_t b, bool is_min)
{
    const uint8_t *own = bytes + (is_min ? 4 : 0);
    if (b < 4) {
        return own[b] % 64;
    }
    int low = is_min ? bytes[4 + b] / 16 : bytes[4 + b] % 16;
    return low + 16 * (own[b - 4] / 64);
}

static double k_element(const uint8_t *super, size_t j, int q)
{
    int scale = k_scale_at(super + 4, j / 32, false), min = k_scale_at(super + 4, j / 32, true);
    return half_at(super) * scale * q - half_at(super + 2) * min;
}

static double element_q4_k(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 144;
    size_t j = i % 256;
    return k_element(super, j, super[16 + j / 64 * 32 + j % 32] >> 4 * (j / 32 % 2) & 15);
}

static double element_q5_k(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 176;
    size_t j = i % 256;
    int low = super[48 + j / 64 * 32 + j % 32] >> 4 * (j / 32 % 2) & 15;
    return k_element(super, j, low + 16 * (super[16 + j % 32] >> j / 32 & 1));
}

static double element_q6_k(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 210;
    size_t j = i % 256;
    int low = super[j / 128 * 64 + j % 64] >> 4 * (j / 64 % 2) & 15;
    int high = super[128 + j / 128 * 32 + j % 32] >> 2 * (j % 128 / 32) & 3;
    int scale = super[192 + j / 16];
    return half_at(super + 208) * (scale < 128 ? scale : scale - 256) * (low + 16 * high - 32);
}

static const int iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

static double element_iq4_nl(const uint8_t *row, size_t i)
{
    const uint8_t *block = row + i / 32 * 18;
    return half_at(block) * iq4_values[(int)nibble_at(block + 2, i % 32)];
}

static double element_iq4_xs(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 136;
    size_t b = i % 256 / 32;
    int low = super[4 + b / 2] >> 4 * (b % 2) & 15;
    int high = (super[2] + 256 * super[3]) >> 2 * b & 3;
    return half_at(super) * (low + 16 * high - 32) *
           iq4_values[(int)nibble_at(super + 8 + 16 * b, i % 32)];
}

// E2M1: a sign, two bits of exponent, one of mantissa; with a scale of 2^(e - 127).
static double element_mxfp4(const uint8_t *row, size_t i)
{
    static const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const uint8_t *block = row + i / 32 * 17;
    int q = (int)nibble_at(block + 1, i % 32);
    return ldexp(q < 8 ? values[q] : -values[q - 8], block[0] - 127);
}

// Digit n of base 3 of a byte that stands for byte / 256, the highest first.
static int digit_at(int byte, size_t n)
{
    for (; n > 0; n--) {
        byte = byte * 3 % 256;
    }
    return byte * 3 / 256;
}

static double element_tq1_0(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 54;
    size_t j = i % 256;
    int digit = j < 160   ? digit_at(super[j % 32], j / 32)
                : j < 240 ? digit_at(super[32 + j % 16], (j - 160) / 16)
                          : digit_at(super[48 + j % 4], (j - 240) / 4);
    return half_at(super + 52) * (digit - 1);
}

static double element_tq2_0(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 66;
    size_t j = i % 256;
    return half_at(super + 64) * ((super[j / 128 * 32 + j % 32] >> 2 * (j % 128 / 32) & 3) - 1);
}

//-- grids -----------------------------------------------------------------------------------------

static int point_of(enum ref_grid grid, int index)
{
    return (int)(ref_grid_words(grid)[index / 2] >> (index % 2 ? 16 : 0) & 0xFFFF);
}

// Coordinate j of eight, and of four.
static int coordinate_8(enum ref_grid grid, int index, size_t j)
{
    return point_of(grid, index) >> (j < 4 ? 4 * j : 4 * (j - 4) + 2) & 3;
}

static int coordinate_4(enum ref_grid grid, int index, size_t j)
{
    return point_of(grid, index) >> 4 * j & 7;
}

// Sign j of eight of which seven are given and the number of negative ones is even.
static double even_sign(int seven, size_t j)
{
    int n_set = 0;
    for (int i = 0; i < 7; i++) {
        n_set += seven >> i & 1;
    }
    return (j < 7 ? seven >> j & 1 : n_set & 1) ? -1 : 1;
}

static double plain_sign(const uint8_t *bits, size_t j)
{
    return bit_at(bits, j) ? -1 : 1;
}

static int word16_at(const uint8_t *bytes)
{
    return bytes[0] + 256 * bytes[1];
}

static int64_t word32_at(const uint8_t *bytes)
{
    return word16_at(bytes) + 65536 * (int64_t)word16_at(bytes + 2);
}

static const int iq2_magnitudes[3] = {8, 25, 43};

static double element_iq2_xxs(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 66, *block = super + 2 + i % 256 / 32 * 8;
    size_t group = i % 32 / 8;
    int64_t word = word32_at(block + 4);
    int c = coordinate_8(REF_GRID_IQ2_XXS, block[group], i % 8);
    return half_at(super) * (double)(1 + 2 * (word >> 28)) / 8 * iq2_magnitudes[c] *
           even_sign((int)(word >> 7 * group & 127), i % 8);
}

static double element_iq2_xs(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 74;
    size_t j = i % 256;
    int word = word16_at(super + 2 + j / 8 * 2);
    int scale = super[66 + j / 32] >> 4 * (j / 16 % 2) & 15;
    return half_at(super) * (1 + 2 * scale) / 8 *
           iq2_magnitudes[coordinate_8(REF_GRID_IQ2_XS, word & 511, j % 8)] *
           even_sign(word >> 9, j % 8);
}

static double element_iq2_s(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 82;
    size_t j = i % 256;
    int index = super[2 + j / 8] + 256 * (super[66 + j / 32] >> 2 * (j / 8 % 4) & 3);
    int scale = super[74 + j / 32] >> 4 * (j / 16 % 2) & 15;
    return half_at(super) * (1 + 2 * scale) / 8 *
           iq2_magnitudes[coordinate_8(REF_GRID_IQ2_S, index, j % 8)] * plain_sign(super + 34, j);
}

static double element_iq3_xxs(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 98;
    size_t j = i % 256;
    int64_t word = word32_at(super + 66 + j / 32 * 4);
    int c = coordinate_4(REF_GRID_IQ3_XXS, super[2 + j / 4], j % 4);
    return half_at(super) * (double)(1 + 2 * (word >> 28)) / 4 * (c == 7 ? 62 : 4 + 8 * c) *
           even_sign((int)(word >> 7 * (j / 8 % 4) & 127), j % 8);
}

static double element_iq3_s(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 110;
    size_t j = i % 256;
    int index = super[2 + j / 4] + 256 * bit_at(super + 66, j / 4);
    int scale = super[106 + j / 64] >> 4 * (j / 32 % 2) & 15;
    return half_at(super) * (1 + 2 * scale) * (1 + 2 * coordinate_4(REF_GRID_IQ3_S, index, j % 4)) *
           plain_sign(super + 74, j);
}

static double element_iq1_s(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 50;
    size_t j = i % 256;
    int word = word16_at(super + 34 + j / 32 * 2);
    int index = super[2 + j / 8] + 256 * (word >> 3 * (j / 8 % 4) & 7);
    double move = word >= 0x8000 ? -0.125 : 0.125;
    return half_at(super) * (1 + 2 * (word >> 12 & 7)) *
           (coordinate_8(REF_GRID_IQ1, index, j % 8) - 1 + move);
}

static double element_iq1_m(const uint8_t *row, size_t i)
{
    const uint8_t *super = row + i / 256 * 56, *words = super + 48;
    size_t j = i % 256;
    unsigned d = 0;
    for (size_t k = 0; k < 4; k++) {
        d += (unsigned)(words[2 * k + 1] / 16) << 4 * k;
    }
    int nibble = super[32 + j / 16] >> 4 * (j / 8 % 2) & 15;
    int index = super[j / 8] + 256 * (nibble & 7);
    int scale = word16_at(words + j / 64 * 2) >> 3 * (j / 16 % 4) & 7;
    return ref_half(d) * (1 + 2 * scale) *
           (coordinate_8(REF_GRID_IQ1, index, j % 8) - 1 + (nibble & 8 ? -0.125 : 0.125));
}

//-- table -----------------------------------------------------------------------------------------

static const struct ref_quant quants[] = {
    {"f32", element_f32, 0, {{REF_SCALE_VALUE, 0, 1}}},
    {"f16", element_f16, 0, {{REF_SCALE_HALF, 0, 1}}},
    {"q4_0", element_q4_0, 0, {{REF_SCALE_HALF, 0, 8}}},
    {"q4_1", element_q4_1, 64, {{REF_SCALE_HALF, 0, 8}, {REF_SCALE_HALF, 2, 1}}},
    {"q8_0", element_q8_0, 0, {{REF_SCALE_HALF, 0, 128}}},
    {"bf16", element_bf16, 0, {{REF_SCALE_VALUE, 0, 1}}},
    {"q5_0", element_q5_0, 0, {{REF_SCALE_HALF, 0, 16}}},
    {"q5_1", element_q5_1, 64, {{REF_SCALE_HALF, 0, 16}, {REF_SCALE_HALF, 2, 1}}},
    {"q2_k", element_q2_k, 128, {{REF_SCALE_HALF, 80, 45}, {REF_SCALE_HALF, 82, 15}}},
    {"q3_k", element_q3_k, 0, {{REF_SCALE_HALF, 108, 32 * 4}}},
    {"q4_k", element_q4_k, 2048, {{REF_SCALE_HALF, 0, 63 * 15}, {REF_SCALE_HALF, 2, 63}}},
    {"q5_k", element_q5_k, 4096, {{REF_SCALE_HALF, 0, 63 * 31}, {REF_SCALE_HALF, 2, 63}}},
    {"q6_k", element_q6_k, 8192, {{REF_SCALE_HALF, 208, 128 * 32}}},
    {"iq4_nl", element_iq4_nl, 0, {{REF_SCALE_HALF, 0, 127}}},
    {"iq4_xs", element_iq4_xs, 8192, {{REF_SCALE_HALF, 0, 32 * 127}}},
    {"mxfp4", element_mxfp4, 0, {{REF_SCALE_EXPONENT, 0, 1}}},
    {"tq1_0", element_tq1_0, 0, {{REF_SCALE_HALF, 52, 1}}},
    {"tq2_0", element_tq2_0, 0, {{REF_SCALE_HALF, 64, 1}}},
    {"iq1_s", element_iq1_s, 0, {{REF_SCALE_HALF, 0, 15}}},
    {"iq1_m", element_iq1_m, 0, {{REF_SCALE_DIGITS, 48, 15}}},
    {"iq2_xxs", element_iq2_xxs, 0, {{REF_SCALE_HALF, 0, 16 * 11}}},
    {"iq2_xs", element_iq2_xs, 0, {{REF_SCALE_HALF, 0, 16 * 11}}},
    {"iq2_s", element_iq2_s, 0, {{REF_SCALE_HALF, 0, 16 * 11}}},
    {"iq3_xxs", element_iq3_xxs, 0, {{REF_SCALE_HALF, 0, 16 * 31}}},
    {"iq3_s", element_iq3_s, 0, {{REF_SCALE_HALF, 0, 31 * 15}}},
};

const struct ref_quant *ref_quant_find(const char *name)
{
    for (size_t i = 0; i < sizeof(quants) / sizeof(quants[0]); i++) {
        if (strcmp(quants[i].name, name) == 0) {
            return &quants[i];
        }
    }
    return NULL;
}
