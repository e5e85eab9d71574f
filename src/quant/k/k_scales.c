#include "quant/quant_table.h"

// The 12 bytes of scales and minima s and m: bytes 0 .. 3 hold s[0] .. s[3], bytes 4 .. 7 m[0] ..
// m[3], each in its low 6 bits; byte 8 + i holds the low four bits of s[4 + i] and m[4 + i], whose
// high two are the top bits of bytes i and 4 + i.
void gi_read_k_scales(const uint8_t bytes[12], struct gi_k_scales *scales)
{
    for (size_t i = 0; i < 4; i++) {
        scales->first[i] = bytes[i] & 63;
        scales->second[i] = bytes[i + 4] & 63;
        scales->first[i + 4] = (uint8_t)((bytes[i + 8] & 15) | bytes[i] >> 6 << 4);
        scales->second[i + 4] = (uint8_t)(bytes[i + 8] >> 4 | bytes[i + 4] >> 6 << 4);
    }
}

void gi_scale_k(const uint8_t *super, size_t block, const struct gi_quants *quants, float *dst)
{
    struct gi_k_scales scales;
    gi_read_k_scales(super + 4, &scales);
    const float scale = gi_load_half(super) * (float)scales.first[block];
    const float min = -(gi_load_half(super + 2) * (float)scales.second[block]);
    gi_scale_quants(quants, 0, (float[]){scale, scale}, (float[]){min, min}, dst);
}

void gi_pack_k_scales(const struct gi_k_scales *scales, uint32_t words[3])
{
    words[0] = words[1] = words[2] = 0;
    for (size_t i = 0; i < 8; i++) {
        const uint32_t first = scales->first[i], second = scales->second[i];
        words[i / 4] |= ((first & 15) | (second & 15) << 4) << 8 * (i % 4);
        words[2] |= (first >> 4 | second >> 4 << 2) << 4 * i;
    }
}
