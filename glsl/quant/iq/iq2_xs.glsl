// IQ2_XS: weight = +- d * (1 + 2 scale) / 8 * coordinate. Four quads a row and super-block of 8
// blocks, two words a block: of 8 weights 16 bits, a 9-bit index of a point of the grid and 7 bits
// of signs. Scale words, three a super-block: f16 d; a byte a block, scale of the first 16 weights
// low.
#define QUANT_BY_QUADS 1
#include "quant/iq/iq2.glsl"

#define N_TABLE 256u // words of the grid

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 quad = quad_at(quant_index(tile, block / 2u, n_block / 2u, 1u, row));
    uvec2 pair = (block & 1u) == 0u ? quad.xy : quad.zw;
    uvec4 i = uvec4(pair.x, pair.x >> 16u, pair.y, pair.y >> 16u) & 0xFFFFu;
    uvec4 s = i >> 9u;
    i &= 0x1FFu;
    w.points = uvec2(grid_points(i.x, i.y), grid_points(i.z, i.w));
    w.signs = even_signs(s.x | s.y << 7u | s.z << 14u | s.w << 21u);
    uint at = N_TABLE + quant_index(tile, block / 8u, n_block / 8u, 3u, row);
    highp vec2 d = unpackHalf2x16(aux_at(at));
    uint scales = aux_at(at + (1u + (block / 4u & 1u)) * TILE_ROWS) >> ((block & 3u) * 8u);
    w.d = d.x * 0.25 * (0.5 + vec2(uvec2(scales, scales >> 4u) & 0xFu));
    return w;
}
