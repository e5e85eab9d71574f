// IQ3_S and IQ3_XXS: weight = +- d * a function of a coordinate, eight points of the grid a block.
struct QuantBlock {
    uvec4 points; // eight
    uint signs;
    vec2 d;
};

#include "quant/grid.glsl"

// Low bytes of the indices of a block's points: four quads a row and super-block of 8 blocks, two
// words a block.
void iq3_load(uint tile, uint block, uint n_block, uint row, out uvec4 i, out uvec4 j)
{
    uvec4 quad = quad_at(quant_index(tile, block / 2u, n_block / 2u, 1u, row));
    uvec2 pair = (block & 1u) == 0u ? quad.xy : quad.zw;
    i = (uvec4(pair.x) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
    j = (uvec4(pair.y) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
}

uvec4 iq3_points(uvec4 i, uvec4 j)
{
    return uvec4(grid_points(i.x, i.y), grid_points(i.z, i.w), grid_points(j.x, j.y),
                 grid_points(j.z, j.w));
}
