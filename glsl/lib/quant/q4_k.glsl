// Q4_K: weight = d * scale * nibble - d_min * min. Nine quads a row and super-block of 8 blocks: the
// first holds f16 d low, d_min high, and the scales and minima (k_scales.glsl), the others the nibbles
// of a block each. No scale words.
struct QuantBlock {
    uvec4 quad;
    vec2 scale; // of nibbles, and what is added
};

#include "lib/quant/fields.glsl"
#include "lib/quant/k_scales.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block / 8u, n_block / 8u, 9u, row);
    uvec4 header = quad_at(index);
    w.quad = quad_at(index + (1u + (block & 7u)) * TILE_ROWS);
    highp vec2 d = unpackHalf2x16(header.x);
    w.scale = vec2(d.x, -d.y) * k_scales(header, block);
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
    uint quads;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block / 8u, 9u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    QuantBlock w;
    uint index = row.quads + pair / 4u * (9u * TILE_ROWS);
    uint b = 2u * (pair & 3u) + odd;
    uvec4 header = quad_at(index);
    w.quad = quad_at(index + (1u + b) * TILE_ROWS);
    highp vec2 d = unpackHalf2x16(header.x);
    w.scale = vec2(d.x, -d.y) * k_scales(header, b);
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
