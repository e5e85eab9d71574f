// Shared by quant.c and the type files: the table of types and the planes that quants lie in.
// Private to this folder.
#pragma once

#include "base/bytes.h"
#include "quant/quant.h"

// Each weight type has a file of its name, which defines gi_quant_<text> by GI_QUANT.
#define GI_QUANT_DECLARE(name, text, ...) extern const struct gi_quant gi_quant_##text;
GI_WEIGHT_TYPE_MAP(GI_QUANT_DECLARE)
#undef GI_QUANT_DECLARE

// Defines the type of a file, whose function to dequantise is called dequantize. Fields of struct
// gi_quant follow.
#define GI_QUANT(NAME, text, repack, ...)                                                          \
    const struct gi_quant gi_quant_##text = {.type = GI_GGML_TYPE_##NAME,                          \
                                             .dequantize = dequantize,                             \
                                             .repack_group = (repack),                             \
                                             __VA_ARGS__}

#define GI_QUAD_WORDS   4u   // uints a uvec4
#define GI_MAX_QUADS    16u  // of a group of blocks, as repack_group fills them
#define GI_MAX_WORDS    16u  // scale words of a group of blocks
#define GI_SUPER_BLOCK  256u // elements
#define GI_SUPER_BLOCKS 8u   // of 32 elements in a super-block

// Loads an f16 of the file.
static inline float gi_load_half(const uint8_t *bytes)
{
    return gi_half_to_float(gi_load_u16(bytes));
}

//-- planes (planes.c) -----------------------------------------------------------------------------

// The quants of a block, on their way from the file's layout into planes (see quant.h): byte j of
// eight[i] is element 8 i + j.
struct gi_quants {
    uint64_t eight[4];
};

static inline unsigned gi_quant_at(const struct gi_quants *quants, size_t i)
{
    return (unsigned)(quants->eight[i / 8] >> 8 * (i % 8)) & 0xFF;
}

// Reads the low nibbles of 16 bytes, then the high ones.
void gi_read_nibbles(const uint8_t bytes[16], struct gi_quants *quants);
// Reads the bits of mask from shift on of each of 32 bytes.
void gi_read_fields(const uint8_t bytes[32], size_t shift, unsigned mask, struct gi_quants *quants);
// Adds bit to those quants whose bit in the mask is set, element 0 lowest.
void gi_add_bits(uint32_t mask, unsigned bit, struct gi_quants *quants);

// Pack the bits from shift on of each quant into planes.
void gi_pack_nibbles(const struct gi_quants *quants, uint32_t words[4]);
void gi_pack_pairs(const struct gi_quants *quants, unsigned shift, uint32_t words[2]);
uint32_t gi_pack_bits(const struct gi_quants *quants, unsigned shift);

// dst[i] = d * (quant i - zero) + m, with d[0] and m[0] for the first 16, d[1] and m[1] for the
// rest.
void gi_scale_quants(const struct gi_quants *quants, int zero, const float d[2], const float m[2],
                     float dst[GI_QUANT_BLOCK]);
// dst[i] = d * codes[quant i], quants of four bits.
void gi_scale_codes(const struct gi_quants *quants, const int8_t codes[16], float d,
                    float dst[GI_QUANT_BLOCK]);
extern const int8_t gi_iq4_codes[16];  // of IQ4_NL and IQ4_XS
extern const int8_t gi_e2m1_codes[16]; // of MXFP4 and NVFP4: twice the values of E2M1

// Serve as repack_group (see quant.h) for elements of 16 bits, and for blocks of 18 bytes: f16 d,
// nibbles.
void gi_repack_halves(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words);
void gi_repack_half_and_nibbles(const uint8_t *src, size_t n, uint32_t (*quads)[4],
                                uint32_t *words);

//-- pairs of six bits for the blocks of a super-block (k_scales.c) --------------------------------

struct gi_k_scales {
    uint8_t first[8], second[8]; // of block i
};

// Reads the scales (first) and minima of Q4_K and Q5_K from the 12 bytes of the file.
void gi_read_k_scales(const uint8_t bytes[12], struct gi_k_scales *scales);
// dst[i] = d * first * quant i - d_min * second for a block of Q4_K or Q5_K, whose super-blocks
// begin with d, d_min and the scales.
void gi_scale_k(const uint8_t *super, size_t block, const struct gi_quants *quants, float *dst);
// Packs three words: byte i % 4 of word i / 4 has the low four bits of both, the first one low;
// bits 4 i on of the third word have the high two bits.
void gi_pack_k_scales(const struct gi_k_scales *scales, uint32_t words[3]);
