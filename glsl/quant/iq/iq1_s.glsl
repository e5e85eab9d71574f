// IQ1_S: weight = d * (1 + 2 scale) * (coordinate - 1 +- 1/8). Three quads a row and super-block of
// 8 blocks: low bytes of the indices of four points a block, in two; in the third 16 bits a block,
// high three bits of the four indices, three bits of scale and whether the eighth is taken away.
// Scale word: f16 d of two super-blocks, the even one low.
#include "quant/iq/iq1.glsl"
#include "quant/super_pair.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 i;
    uint high;
    iq1_load(tile, block, n_block, row, i, high);
    i |= ((uvec4(high) >> uvec4(0u, 3u, 6u, 9u)) & 7u) << 8u;
    w.points = uvec2(grid_points(i.x, i.y), grid_points(i.z, i.w));
    w.shift = vec4((high & 0x8000u) == 0u ? -0.875 : -1.125);
    float d = super_pair_scale(tile, block, n_block, row, 1u, N_TABLE);
    w.d = vec2(d * float(1u + 2u * ((high >> 12u) & 7u)));
    return w;
}
