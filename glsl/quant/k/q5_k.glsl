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
    w.high = aux_at(aux_index);
    highp vec2 d = unpackHalf2x16(header.x);
    w.scale = vec2(d.x, -d.y) * k_scales(header, b);
    return w;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return load_at(quant_index(tile, block / 8u, n_block / 8u, 9u, row),
                   quant_index(tile, block, n_block, 1u, row), block & 7u);
}

#if DOT
struct QuantRow {
    uint quads, aux;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block / 8u, 9u, row),
                    quant_index(tile, 0u, n_block, 1u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    return load_at(row.quads + pair / 4u * (9u * TILE_ROWS), row.aux + block * TILE_ROWS,
                   2u * (pair & 3u) + odd);
}
#endif
