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

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block / 8u, n_block / 8u, 12u, row);
    w.quad = quad_at(index + (block & 7u) * TILE_ROWS);
    uvec4 high = quad_at(index + (8u + (block / 2u & 3u)) * TILE_ROWS);
    w.high = (block & 1u) == 0u ? high.xy : high.zw;
    SuperScales scales = super_scales(tile, block, n_block, row, 0u);
    w.d = scales.d.x * vec2(ivec2(uvec2(scales.bytes << 24u, scales.bytes << 16u)) >> 24);
    return w;
}

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
