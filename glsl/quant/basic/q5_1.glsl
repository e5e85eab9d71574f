// Q5_1: weight = d * quant + m, quants of five bits. One quad a row and block, nibbles. Scale
// words, two a block: f16 d low, f16 m high; the plane of the fifth bits.
#include "quant/five_bits.glsl"

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
