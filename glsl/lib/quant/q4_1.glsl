// Q4_1: weight = d * nibble + m. One quad a row and block:
//
//   word      0           1            2             3
//   element   0 1 .. 7    8 9 .. 15    16 17 .. 23   24 25 .. 31   four bits each, the first low
//
// Scale word: f16 d low, f16 m high, of one block.
struct QuantBlock {
    uvec4 quad;
    vec2 scale; // d, m
};

#include "lib/quant/fields.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block, n_block, 1u, row);
    w.quad = quad_at(index);
    highp vec2 scale = unpackHalf2x16(aux_at(index));
    w.scale = scale;
    return w;
}

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(nibbles_at(w.quad, k), 0xFu));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return w.scale.x * fields_dot(w, x) + w.scale.y * (sum.x + sum.y);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, w.scale.xx, w.scale.yy, k);
}

#if DOT
#define QUANT_PARTS 1
#include "lib/quant/dot.glsl"

struct QuantRow {
    uint quads; // scale words lie alike
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block, 1u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    QuantBlock w;
    uint index = row.quads + block * TILE_ROWS;
    w.quad = quad_at(index);
    highp vec2 scale = unpackHalf2x16(aux_at(index));
    w.scale = scale;
    return w;
}

void quant_part(QuantBlock w, int k, vec4 a, vec4 b, inout DotSum s)
{
    dot_nibbles(w.quad[k], a, b, s);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    return w.scale.x * dot_nibbles_end(s, 0.0, sum) + w.scale.y / dot_scale * (sum.x + sum.y);
}
#endif

#if HALF
#define QUANT_PAIRS PAIRS_OF_NIBBLES
#define QUANT_SCALES 1

mediump vec2 quant_half(QuantBlock w, int k, uvec4 x, mediump vec2 h)
{
    return half_nibbles(w.quad[k], x, h);
}

float quant_half_end(QuantBlock w, vec2 p, vec2 sum)
{
    return w.scale.x * p.x + w.scale.y * (sum.x + sum.y);
}
#endif
