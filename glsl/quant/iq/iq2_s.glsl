// IQ2_S: weight = +- d * (1 + 2 scale) / 8 * coordinate. Four quads a row and super-block of 8
// blocks, two words a block: low bytes of the indices of four points of the grid; a sign a weight.
// Scale words: super_scales.glsl, f16 d and of a block the high two bits of its indices, then
// scales of 16 weights.
#include "quant/iq/iq2.glsl"
#include "quant/super_scales.glsl"

#define N_TABLE 512u // words of the grid

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 quad = quad_at(quant_index(tile, block / 2u, n_block / 2u, 1u, row));
    uvec2 pair = (block & 1u) == 0u ? quad.xy : quad.zw;
    SuperScales scales = super_scales(tile, block, n_block, row, N_TABLE);
    uvec4 i = (uvec4(pair.x) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
    i |= ((uvec4(scales.bytes) >> uvec4(0u, 2u, 4u, 6u)) & 3u) << 8u;
    w.points = uvec2(grid_points(i.x, i.y), grid_points(i.z, i.w));
    w.signs = pair.y;
    w.d = scales.d.x * 0.25 *
          (0.5 + vec2(uvec2(scales.bytes >> 8u, scales.bytes >> 12u) & 0xFu));
    return w;
}
