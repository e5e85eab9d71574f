// IQ2_XXS: weight = +- d * (1 + 2 scale) / 8 * coordinate. Four quads a row and super-block of 8
// blocks, two words a block: indices of four points of the grid, a byte each; signs, 7 bits for 8
// weights, and in the top four bits scale. Scale word: f16 d of two super-blocks, the even one low.
#include "quant/iq/iq2.glsl"
#include "quant/super_pair.glsl"

#define N_TABLE 128u // words of the grid

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 quad = quad_at(quant_index(tile, block / 2u, n_block / 2u, 1u, row));
    uvec2 pair = (block & 1u) == 0u ? quad.xy : quad.zw;
    uvec4 i = (uvec4(pair.x) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
    w.points = uvec2(grid_points(i.x, i.y), grid_points(i.z, i.w));
    w.signs = even_signs(pair.y);
    float d = super_pair_scale(tile, block, n_block, row, 1u, N_TABLE);
    w.d = vec2(d * (0.5 + float(pair.y >> 28u)) * 0.25);
    return w;
}
