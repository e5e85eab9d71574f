// IQ1_S: weight = d * (1 + 2 scale) * (coordinate - 1 +- 1/8). Three quads a row and super-block of 8
// blocks: low bytes of the indices of four points a block, in two; in the third 16 bits a block, high
// three bits of the four indices, three bits of scale and whether the eighth is taken away. Scale word:
// f16 d of two super-blocks, the even one low.
struct QuantBlock {
    uvec2 points; // four
    vec4 shift;   // of each, -1 and +- 1/8
    vec2 d;       // of the first 16 weights and of the last
};

#include "lib/quant/grid.glsl"
#include "lib/quant/super_pair.glsl"

#define N_TABLE 1024u // words of the grid

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block / 8u, n_block / 8u, 3u, row);
    uint low = quad_at(index + (block / 4u & 1u) * TILE_ROWS)[block & 3u];
    uint high = quad_at(index + 2u * TILE_ROWS)[block / 2u & 3u] >> ((block & 1u) * 16u);
    uvec4 i = (uvec4(low) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
    i |= ((uvec4(high) >> uvec4(0u, 3u, 6u, 9u)) & 7u) << 8u;
    w.points = uvec2(grid_points(i.x, i.y), grid_points(i.z, i.w));
    w.shift = vec4((high & 0x8000u) == 0u ? -0.875 : -1.125);
    float d = super_pair_scale(tile, block, n_block, row, 1u, N_TABLE);
    w.d = vec2(d * float(1u + 2u * ((high >> 12u) & 7u)));
    return w;
}

vec4 quant_values(QuantBlock w, int k)
{
    return coordinates_of_8(w.points, k) + w.shift[k / 2];
}
