// IQ1_M: weight = d * (1 + 2 scale) * (coordinate - 1 +- 1/8). Three quads a row and super-block of
// 8 blocks: low bytes of the indices of four points a block, in two; in the third a nibble a point,
// high three bits of the index and whether the eighth is taken away. Scale words, two a
// super-block: four times 16 bits, scales of 16 weights, three bits each, and in the top four a
// digit of f16 d.
#define QUANT_BY_QUADS 1
#include "quant/iq/iq1.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 i;
    uint high;
    iq1_load(tile, block, n_block, row, i, high);
    uvec4 nibbles = (uvec4(high) >> uvec4(0u, 4u, 8u, 12u)) & 0xFu;
    i |= (nibbles & 7u) << 8u;
    w.points = uvec2(grid_points(i.x, i.y), grid_points(i.z, i.w));
    w.shift = mix(vec4(-0.875), vec4(-1.125), bvec4(nibbles & 8u));
    uint at = N_TABLE + quant_index(tile, block / 8u, n_block / 8u, 2u, row);
    uvec2 words = uvec2(aux_at(at), aux_at(at + TILE_ROWS));
    uvec2 digits = ((words >> 12u) & 0xFu) | ((words >> 24u) & 0xF0u);
    highp vec2 d = unpackHalf2x16(digits.x | digits.y << 8u);
    uint b = block & 7u;
    uint scales = (b < 4u ? words.x : words.y) >> ((b / 2u & 1u) * 16u + (b & 1u) * 6u);
    w.d = d.x * vec2(1u + 2u * (uvec2(scales, scales >> 3u) & 7u));
    return w;
}
