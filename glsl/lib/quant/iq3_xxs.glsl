// IQ3_XXS: weight = +- d * (1 + 2 scale) / 4 * coordinate. Four quads a row and super-block of 8 blocks,
// two words a block: indices of eight points of the grid, a byte each. Scale words, nine a super-block:
// f16 d; of each block signs, 7 bits for 8 weights, and in the top four bits scale.
struct QuantBlock {
    uvec4 points; // eight
    uint signs;
    vec2 d;
};

#include "lib/quant/grid.glsl"

#define N_TABLE 128u // words of the grid

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 quad = quad_at(quant_index(tile, block / 2u, n_block / 2u, 1u, row));
    uvec2 pair = (block & 1u) == 0u ? quad.xy : quad.zw;
    uvec4 i = (uvec4(pair.x) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
    uvec4 j = (uvec4(pair.y) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
    w.points = uvec4(grid_points(i.x, i.y), grid_points(i.z, i.w), grid_points(j.x, j.y),
                     grid_points(j.z, j.w));
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
