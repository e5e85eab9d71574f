// IQ3_S: weight = +- d * (1 + 2 scale) * coordinate. Four quads a row and super-block of 8 blocks,
// two words a block: low bytes of the indices of eight points of the grid. Scale words, twelve a
// super-block: f16 d; a nibble a block, scale; two words with the ninth bits of the indices, a byte
// a block; a word of signs a block.
#include "quant/iq/iq3.glsl"

#define N_TABLE 256u // words of the grid

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 i, j;
    iq3_load(tile, block, n_block, row, i, j);
    uint at = N_TABLE + quant_index(tile, block / 8u, n_block / 8u, 12u, row);
    highp vec2 d = unpackHalf2x16(aux_at(at));
    uint scale = (aux_at(at + TILE_ROWS) >> ((block & 7u) * 4u)) & 0xFu;
    uint high = aux_at(at + (2u + (block / 4u & 1u)) * TILE_ROWS) >> ((block & 3u) * 8u);
    i |= ((uvec4(high) >> uvec4(0u, 1u, 2u, 3u)) & 1u) << 8u;
    j |= ((uvec4(high) >> uvec4(4u, 5u, 6u, 7u)) & 1u) << 8u;
    w.points = iq3_points(i, j);
    w.signs = aux_at(at + (4u + (block & 7u)) * TILE_ROWS);
    w.d = vec2(d.x * float(1u + 2u * scale));
    return w;
}

vec4 quant_values(QuantBlock w, int k)
{
    vec4 c = coordinates_of_4(w.points, k);
    return flip_signs(1.0 + 2.0 * c, w.signs, k);
}
