// Q2_0: weight = d * (quant - 1), quants of two bits. A quad a row and two blocks: the pairs of bits
// of both. Scale word: f16 d of two such groups, the even one low.
#include "quant/basic/two_bits.glsl"

QuantBlock load_at(uint index, uint aux_index, uint block)
{
    QuantBlock w;
    uvec4 pairs = quad_at(index);
    highp vec2 d = unpackHalf2x16(aux_at(aux_index));
    w.pairs = (block & 1u) == 0u ? pairs.xy : pairs.zw;
    w.d = (block & 2u) == 0u ? d.x : d.y;
    return w;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return load_at(quant_index(tile, block / 2u, n_block / 2u, 1u, row),
                   quant_index(tile, block / 4u, (n_block + 3u) / 4u, 1u, row), block);
}

#if DOT
#define QUANT_BITS 2
#include "quant/plane_dot.glsl"

struct QuantRow {
    uint quads, aux;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block / 2u, 1u, row),
                    quant_index(tile, 0u, (n_block + 3u) / 4u, 1u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    return load_at(row.quads + pair * TILE_ROWS, row.aux + pair / 2u * TILE_ROWS, block);
}

uvec2 quant_bytes(QuantBlock w, int k)
{
    return pair_bytes(w.pairs, k);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    vec2 p = dot_halves_end(s, 1.0, sum);
    return w.d * (p.x + p.y);
}
#endif
