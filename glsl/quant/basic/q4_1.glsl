// Q4_1: weight = d * nibble + m. One quad a row and block:
//
//   word      0           1            2             3
//   element   0 1 .. 7    8 9 .. 15    16 17 .. 23   24 25 .. 31   four bits each, the first low
//
// Scale word: f16 d low, f16 m high, of one block.
#include "quant/nibbles.glsl"

QuantBlock load_at(uint index)
{
    QuantBlock w;
    w.quad = quad_at(index);
    highp vec2 scale = unpackHalf2x16(aux_at(index));
    w.scale = scale;
    return w;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return load_at(quant_index(tile, block, n_block, 1u, row));
}

#if DOT
struct QuantRow {
    uint quads; // scale words lie alike
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block, 1u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    return load_at(row.quads + block * TILE_ROWS);
}
#endif
