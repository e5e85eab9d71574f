#include "quant/quant_table.h"

#define LOW_NIBBLES 0x0F0F0F0F0F0F0F0Fu
#define LOW_BITS    0x0101010101010101u

// Packs the low nibbles of eight bytes in natural order: byte i gives bits 4i..4i+3.
static uint32_t pack_low_nibbles(uint64_t bytes)
{
    bytes &= LOW_NIBBLES;
    bytes = (bytes | bytes >> 4) & 0x00FF00FF00FF00FFu;
    bytes = (bytes | bytes >> 8) & 0x0000FFFF0000FFFFu;
    return (uint32_t)(bytes | bytes >> 16);
}

void gi_read_nibbles(const uint8_t bytes[16], struct gi_quants *quants)
{
    for (size_t i = 0; i < 2; i++) {
        uint64_t eight = gi_load_u64(bytes + 8 * i);
        quants->eight[i] = eight & LOW_NIBBLES;
        quants->eight[i + 2] = eight >> 4 & LOW_NIBBLES;
    }
}

void gi_read_fields(const uint8_t bytes[32], size_t shift, unsigned mask, struct gi_quants *quants)
{
    for (size_t i = 0; i < 4; i++) {
        quants->eight[i] = gi_load_u64(bytes + 8 * i) >> shift & mask * LOW_BITS;
    }
}

// Bit i of a byte as the lowest of byte i of eight.
static uint64_t spread_bits(uint32_t byte)
{
    uint64_t picked = (byte & 0xFF) * LOW_BITS & 0x8040201008040201u;
    return ((picked + 0x7F7F7F7F7F7F7F7Fu) | picked) >> 7 & LOW_BITS;
}

void gi_add_bits(uint32_t mask, unsigned bit, struct gi_quants *quants)
{
    for (size_t i = 0; i < 4; i++) {
        quants->eight[i] += spread_bits(mask >> 8 * i) << bit;
    }
}

void gi_pack_nibbles(const struct gi_quants *quants, uint32_t words[4])
{
    for (size_t i = 0; i < 4; i++) {
        words[i] = pack_low_nibbles(quants->eight[i]);
    }
}

// Folds the two halves of a word, fields of four quants each, so that they lie `step` bits apart.
static uint32_t fold_halves(uint32_t fields, unsigned step)
{
    return (fields & 0xFFFF) | fields >> 16 << step;
}

void gi_pack_pairs(const struct gi_quants *quants, unsigned shift, uint32_t words[2])
{
    uint32_t halves[4];
    for (size_t i = 0; i < 4; i++) {
        halves[i] = fold_halves(pack_low_nibbles(quants->eight[i] >> shift & 3 * LOW_BITS), 2);
    }
    words[0] = halves[0] | halves[1] << 16;
    words[1] = halves[2] | halves[3] << 16;
}

uint32_t gi_pack_bits(const struct gi_quants *quants, unsigned shift)
{
    uint32_t halves[4];
    for (size_t i = 0; i < 4; i++) {
        halves[i] = fold_halves(pack_low_nibbles(quants->eight[i] >> shift & LOW_BITS), 1);
    }
    return halves[0] | halves[1] << 2 | (halves[2] | halves[3] << 2) << 16;
}

void gi_scale_quants(const struct gi_quants *quants, int zero, const float d[2], const float m[2],
                     float dst[GI_QUANT_BLOCK])
{
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        dst[i] = d[i / 16] * (float)((int)gi_quant_at(quants, i) - zero) + m[i / 16];
    }
}

void gi_scale_codes(const struct gi_quants *quants, const int8_t codes[16], float d,
                    float dst[GI_QUANT_BLOCK])
{
    for (size_t i = 0; i < GI_QUANT_BLOCK; i++) {
        dst[i] = d * (float)codes[gi_quant_at(quants, i)];
    }
}

void gi_repack_halves(const uint8_t *src, size_t n, uint32_t (*quads)[4],
                      uint32_t *words) // NOLINT(readability-non-const-parameter): as in the table
{
    (void)words;
    for (size_t i = 0; i < n; i++) {
        quads[i / 8][i / 2 % 4] |= (uint32_t)gi_load_u16(src + 2 * i) << 16 * (i % 2);
    }
}

void gi_repack_half_and_nibbles(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words)
{
    for (size_t i = 0; i < n / GI_QUANT_BLOCK; i++, src += 18) {
        struct gi_quants quants;
        gi_read_nibbles(src + 2, &quants);
        gi_pack_nibbles(&quants, quads[i]);
        words[0] |= (uint32_t)gi_load_u16(src) << 16 * i;
    }
}
