// Q3_K: weight = d * (scale - 32) * (quant - 4), quants of three bits, a scale for 16. Five quads a
// row and super-block of 8 blocks: the first holds f16 d and the scales (k_scales.glsl), the others
// the low pairs of bits of two blocks each. Scale word: the plane of the third bits of a block.
struct QuantBlock {
    uvec2 pairs;
    uint high;
    vec2 d; // of the first 16 weights and of the last
};

#include "quant/fields.glsl"
#include "quant/k/k_scales.glsl"

// Loads block b of a super-block.
QuantBlock load_at(uint index, uint aux_index, uint b)
{
    QuantBlock w;
    uvec4 header = quad_at(index);
    uvec4 pairs = quad_at(index + (1u + b / 2u) * TILE_ROWS);
    w.pairs = (b & 1u) == 0u ? pairs.xy : pairs.zw;
    w.high = aux_at(aux_index + b * TILE_ROWS);
    highp vec2 d = unpackHalf2x16(header.x);
    w.d = d.x * (k_scales(header, b) - 32.0);
    return w;
}

#define SUPER_QUADS 5u
#define SUPER_WORDS 8u
#include "quant/super_row.glsl"

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(pairs_at(w.pairs, k, 0), 3u) |
                           mask_fields(bits_at(w.high, k, 2), 4u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return dot(w.d, fields_dot_halves(w, x) - 4.0 * sum);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, w.d, -4.0 * w.d, k);
}

#if DOT
#define QUANT_BITS 3
#include "quant/plane_dot.glsl"

uvec2 quant_bytes(QuantBlock w, int k)
{
    return pair_bytes(w.pairs, k) | (bit_bytes(w.high, k) << 2u);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    return dot(w.d, dot_halves_end(s, 4.0, sum));
}
#endif
