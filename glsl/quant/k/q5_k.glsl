// Q5_K: weight = d * scale * quant - d_min * min, quants of five bits. Nine quads a row and
// super-block of 8 blocks, as of Q4_K. Scale word: the plane of the fifth bits of a block.
#include "quant/five_bits.glsl"
#include "quant/k/k_scales.glsl"

// Loads block b of a super-block.
QuantBlock load_at(uint index, uint aux_index, uint b)
{
    QuantBlock w;
    uvec4 header = quad_at(index);
    w.quad = quad_at(index + (1u + b) * TILE_ROWS);
    w.high = aux_at(aux_index + b * TILE_ROWS);
    highp vec2 d = unpackHalf2x16(header.x);
    w.scale = vec2(d.x, -d.y) * k_scales(header, b);
    return w;
}

#define SUPER_QUADS 9u
#define SUPER_WORDS 8u
#include "quant/super_row.glsl"
