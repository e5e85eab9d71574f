// IQ3_XXS: weight = +- d * (1 + 2 scale) / 4 * coordinate. Four quads a row and super-block of 8
// blocks, two words a block: indices of eight points of the grid, a byte each. Scale words, nine a
// super-block: f16 d; of each block signs, 7 bits for 8 weights, and in the top four bits scale.
#include "quant/iq/iq3.glsl"

#define N_TABLE 128u // words of the grid

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 i, j;
    iq3_load(tile, block, n_block, row, i, j);
    w.points = iq3_points(i, j);
    uint at = N_TABLE + quant_index(tile, block / 8u, n_block / 8u, 9u, row);
    highp vec2 d = unpackHalf2x16(aux_at(at));
    uint signs = aux_at(at + (1u + (block & 7u)) * TILE_ROWS);
    w.signs = even_signs(signs);
    w.d = vec2(d.x * (0.5 + float(signs >> 28u)) * 0.5);
    return w;
}

vec4 quant_values(QuantBlock w, int k)
{
    vec4 c = coordinates_of_4(w.points, k);
    return flip_signs(4.0 + 8.0 * c + 2.0 * step(6.5, c), w.signs, k);
}
