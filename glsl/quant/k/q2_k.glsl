// Q2_K: weight = d * scale * quant - d_min * min, quants of two bits, a scale and a minimum for 16.
// Four quads a row and super-block of 8 blocks: the pairs of bits of two blocks each. Scale words:
// super_scales.glsl, f16 d low, d_min high, and bytes of scale (low nibble) and minimum.
struct QuantBlock {
    uvec2 pairs;
    vec2 d, m; // of the first 16 weights and of the last
};

#include "quant/fields.glsl"
#include "quant/super_scales.glsl"

// Loads block b of a super-block.
QuantBlock load_at(uint index, uint aux_index, uint b)
{
    QuantBlock w;
    uvec4 pairs = quad_at(index + b / 2u * TILE_ROWS);
    w.pairs = (b & 1u) == 0u ? pairs.xy : pairs.zw;
    SuperScales scales = super_scales_at(aux_index, b);
    uvec2 bytes = uvec2(scales.bytes, scales.bytes >> 8u);
    w.d = scales.d.x * vec2(bytes & 0xFu);
    w.m = -scales.d.y * vec2((bytes >> 4u) & 0xFu);
    return w;
}

#define SUPER_QUADS 4u
#define SUPER_WORDS 5u
#include "quant/super_row.glsl"

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(pairs_at(w.pairs, k, 0), 3u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return dot(w.d, fields_dot_halves(w, x)) + dot(w.m, sum);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, w.d, w.m, k);
}

#if DOT
#define QUANT_BITS 2
#include "quant/plane_dot.glsl"

uvec2 quant_bytes(QuantBlock w, int k)
{
    return pair_bytes(w.pairs, k);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    return dot(w.d, dot_halves_end(s, 0.0, sum)) + dot(w.m, sum) / dot_scale;
}
#endif
