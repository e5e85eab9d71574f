// Q6_K: weight = d * scale * (quant - 32), quants of six bits, a scale for 16. Twelve quads a row
// and super-block of 8 blocks: the nibbles of a block each, then four with the pairs of bits above
// of two blocks each. Scale words: super_scales.glsl, f16 d and a signed byte for 16.
struct QuantBlock {
    uvec4 quad;
    uvec2 high;
    vec2 d; // of the first 16 weights and of the last
};

#include "quant/fields.glsl"
#include "quant/super_scales.glsl"

// Loads block b of a super-block.
QuantBlock load_at(uint index, uint aux_index, uint b)
{
    QuantBlock w;
    w.quad = quad_at(index + b * TILE_ROWS);
    uvec4 high = quad_at(index + (8u + b / 2u) * TILE_ROWS);
    w.high = (b & 1u) == 0u ? high.xy : high.zw;
    SuperScales scales = super_scales_at(aux_index, b);
    w.d = scales.d.x * vec2(ivec2(uvec2(scales.bytes << 24u, scales.bytes << 16u)) >> 24);
    return w;
}

#define SUPER_QUADS 12u
#define SUPER_WORDS 5u
#include "quant/super_row.glsl"

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(nibbles_at(w.quad, k), 0xFu) |
                           mask_fields(pairs_at(w.high, k, 4), 0x30u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return dot(w.d, fields_dot_halves(w, x) - 32.0 * sum);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, w.d, -32.0 * w.d, k);
}

#if DOT
#define QUANT_BITS 6
#include "quant/plane_dot.glsl"

uvec2 quant_bytes(QuantBlock w, int k)
{
    return nibble_bytes(w.quad, k) | (pair_bytes(w.high, k) << 4u);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    return dot(w.d, dot_halves_end(s, 32.0, sum));
}
#endif
