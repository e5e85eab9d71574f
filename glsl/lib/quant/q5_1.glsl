// Q5_1: weight = d * quant + m, quants of five bits. One quad a row and block, nibbles. Scale words,
// two a block: f16 d low, f16 m high; the plane of the fifth bits.
struct QuantBlock {
    uvec4 quad;
    uint high;
    vec2 scale; // d, m
};

#include "lib/quant/fields.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = quad_at(quant_index(tile, block, n_block, 1u, row));
    uint at = quant_index(tile, block, n_block, 2u, row);
    w.high = aux_at(at + TILE_ROWS);
    highp vec2 scale = unpackHalf2x16(aux_at(at));
    w.scale = scale;
    return w;
}

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(nibbles_at(w.quad, k), 0xFu) |
                           mask_fields(bits_at(w.high, k, 4), 0x10u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return w.scale.x * fields_dot(w, x) + w.scale.y * (sum.x + sum.y);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, w.scale.xx, w.scale.yy, k);
}
