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

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block / 8u, n_block / 8u, 5u, row);
    uvec4 header = quad_at(index);
    uvec4 pairs = quad_at(index + (1u + (block / 2u & 3u)) * TILE_ROWS);
    w.pairs = (block & 1u) == 0u ? pairs.xy : pairs.zw;
    w.high = aux_at(quant_index(tile, block, n_block, 1u, row));
    highp vec2 d = unpackHalf2x16(header.x);
    w.d = d.x * (k_scales(header, block) - 32.0);
    return w;
}

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
