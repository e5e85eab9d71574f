// Q1_0: weight = d or -d by a bit, d * (2 * bit - 1). A quad a row and four blocks, a word each; bit
// j of the nibbles of a word is of elements 8 j .. 8 j + 7, in the order of nibbles of Q4_0. Scale
// word: f16 d of two quads, the even one low.
struct QuantBlock {
    uint bits;
    float d;
};

#include "quant/fields.glsl"

float scale_of(uint word, uint four)
{
    highp vec2 d = unpackHalf2x16(word);
    return (four & 1u) == 0u ? d.x : d.y;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint four = block / 4u, n_four = n_block / 4u;
    uvec4 quad = quad_at(quant_index(tile, four, n_four, 1u, row));
    uvec2 bits = (block & 2u) == 0u ? quad.xy : quad.zw;
    w.bits = (block & 1u) == 0u ? bits.x : bits.y;
    w.d = scale_of(aux_at(quant_index(tile, four / 2u, (n_four + 1u) / 2u, 1u, row)), four);
    return w;
}

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(w.bits >> uint((k >> 1) + 16 * (k & 1)), 1u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return w.d * (2.0 * fields_dot(w, x) - (sum.x + sum.y));
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, vec2(2.0 * w.d), vec2(-w.d), k);
}
