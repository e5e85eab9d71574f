// TQ2_0: weight = d * (quant - 1), quants of two bits. Four quads a row and super-block of 8
// blocks: the pairs of bits of two blocks each. Scale word: f16 d of two super-blocks, the even one
// low.
struct QuantBlock {
    uvec2 pairs;
    float d;
};

#include "quant/fields.glsl"
#include "quant/super_pair.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 pairs = quad_at(quant_index(tile, block / 2u, n_block / 2u, 1u, row));
    w.pairs = (block & 1u) == 0u ? pairs.xy : pairs.zw;
    w.d = super_pair_scale(tile, block, n_block, row, 1u, 0u);
    return w;
}

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(pairs_at(w.pairs, k, 0), 3u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return w.d * (fields_dot(w, x) - (sum.x + sum.y));
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, vec2(w.d), vec2(-w.d), k);
}
