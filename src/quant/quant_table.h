// What quant.c and the type files share: the list of types and the planes that quants lie in.
// Private to this folder.
#ifndef GI_QUANT_QUANT_TABLE_H
#define GI_QUANT_QUANT_TABLE_H

#include "base/bytes.h"
#include "quant/quant.h"

// Each has a file of its name, which defines `const struct gi_quant gi_quant_<name>`.
#define GI_QUANT_MAP(X) X(f32) X(f16) X(q4_0) X(q4_1) X(q8_0)

#define GI_QUANT_DECLARE(name) extern const struct gi_quant gi_quant_##name;
GI_QUANT_MAP(GI_QUANT_DECLARE)
#undef GI_QUANT_DECLARE

#define GI_QUAD_WORDS  4u  // uints a uvec4
#define GI_MAX_QUADS   16u // of a group of blocks, as repack_group fills them
#define GI_MAX_WORDS   16u // likewise its scale words
#define GI_SUPER_BLOCK 256u

// Two f16 in a word, as unpackHalf2x16 takes them apart.
static inline uint32_t gi_pack_halves(uint16_t low, uint16_t high)
{
    return low | (uint32_t)high << 16;
}

// An f16 where it lies in the file.
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

// Of 16 bytes: the low nibbles, then the high ones.
void gi_read_nibbles(const uint8_t bytes[16], struct gi_quants *quants);
// Adds bit to those quants whose bit in the mask is set, element 0 lowest.
void gi_add_bits(uint32_t mask, unsigned bit, struct gi_quants *quants);

// Planes of the bits from shift on of each quant.
void gi_pack_nibbles(const struct gi_quants *quants, uint32_t words[4]);
void gi_pack_pairs(const struct gi_quants *quants, unsigned shift, uint32_t words[2]);
uint32_t gi_pack_bits(const struct gi_quants *quants, unsigned shift);

#endif
