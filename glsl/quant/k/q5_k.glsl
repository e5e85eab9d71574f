// Q5_K: weight = d * scale * quant - d_min * min, quants of five bits. Nine quads a row and
// super-block of 8 blocks, as of Q4_K. Scale word: the plane of the fifth bits of a block.
#include "quant/five_bits.glsl"
#include "quant/k/k_scales.glsl"

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
