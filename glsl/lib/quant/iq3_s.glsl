// IQ3_S: weight = +- d * (1 + 2 scale) * coordinate. Four quads a row and super-block of 8 blocks, two
// words a block: low bytes of the indices of eight points of the grid. Scale words, twelve a super-block:
// f16 d; a nibble a block, scale; two words with the ninth bits of the indices, a byte a block; a word
// of signs a block.
struct QuantBlock {
    uvec4 points; // eight
    uint signs;
    vec2 d;
};

#include "lib/quant/grid.glsl"

#define N_TABLE 256u // words of the grid

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 quad = quad_at(quant_index(tile, block / 2u, n_block / 2u, 1u, row));
    uvec2 pair = (block & 1u) == 0u ? quad.xy : quad.zw;
    uvec4 i = (uvec4(pair.x) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
    uvec4 j = (uvec4(pair.y) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
    uint at = N_TABLE + quant_index(tile, block / 8u, n_block / 8u, 12u, row);
    highp vec2 d = unpackHalf2x16(aux_at(at));
    uint scale = (aux_at(at + TILE_ROWS) >> ((block & 7u) * 4u)) & 0xFu;
    uint high = aux_at(at + (2u + (block / 4u & 1u)) * TILE_ROWS) >> ((block & 3u) * 8u);
    i |= ((uvec4(high) >> uvec4(0u, 1u, 2u, 3u)) & 1u) << 8u;
    j |= ((uvec4(high) >> uvec4(4u, 5u, 6u, 7u)) & 1u) << 8u;
    w.points = uvec4(grid_points(i.x, i.y), grid_points(i.z, i.w), grid_points(j.x, j.y),
                     grid_points(j.z, j.w));
    w.signs = aux_at(at + (4u + (block & 7u)) * TILE_ROWS);
    w.d = vec2(d.x * float(1u + 2u * scale));
    return w;
}

vec4 quant_values(QuantBlock w, int k)
{
    vec4 c = coordinates_of_4(w.points, k);
    return flip_signs(1.0 + 2.0 * c, w.signs, k);
}
