// Q5_1: weight = d * quant + m, quants of five bits. One quad a row and block, nibbles. Scale
// words, two a block: f16 d low, f16 m high; the plane of the fifth bits.
#include "quant/five_bits.glsl"

QuantBlock load_at(uint index, uint aux_index)
{
    QuantBlock w;
    w.quad = quad_at(index);
    w.high = aux_at(aux_index + TILE_ROWS);
    highp vec2 scale = unpackHalf2x16(aux_at(aux_index));
    w.scale = scale;
    return w;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return load_at(quant_index(tile, block, n_block, 1u, row),
                   quant_index(tile, block, n_block, 2u, row));
}

#if DOT
struct QuantRow {
    uint quads, aux;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block, 1u, row),
                    quant_index(tile, 0u, n_block, 2u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    return load_at(row.quads + block * TILE_ROWS, row.aux + block * (2u * TILE_ROWS));
}
#endif
