// Q5_K: weight = d * scale * quant - d_min * min, quants of five bits. Nine quads a row and
// super-block of 8 blocks, as of Q4_K. Scale word: the plane of the fifth bits of a block.
struct QuantBlock {
    uvec4 quad;
    uint high;
    vec2 scale; // of quants, and what is added
};

#include "lib/quant/fields.glsl"
#include "lib/quant/k_scales.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block / 8u, n_block / 8u, 9u, row);
    uvec4 header = quad_at(index);
    w.quad = quad_at(index + (1u + (block & 7u)) * TILE_ROWS);
    w.high = aux_at(quant_index(tile, block, n_block, 1u, row));
    highp vec2 d = unpackHalf2x16(header.x);
    w.scale = vec2(d.x, -d.y) * k_scales(header, block);
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
