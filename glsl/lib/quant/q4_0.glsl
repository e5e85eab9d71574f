// Q4_0: weight = d * (nibble - 8). One quad a row and block:
//
//   word      0           1            2             3
//   element   0 1 .. 7    8 9 .. 15    16 17 .. 23   24 25 .. 31   four bits each, the first low
//
// Scale word: f16 d of two blocks, the even one low.
#define QUANT_QUADS 1

#include "lib/quant/nibble.glsl"
#include "lib/quant/paired_scale.glsl"

vec2 quant_scale(uint tile, uint block, uint n_block, uint row)
{
    float d = paired_scale(tile, block, n_block, row);
    return vec2(d, -8.0 * d);
}

float quant_dot(uvec4 w[QUANT_QUADS], vec2 scale, vec4 x[8], float sum)
{
    return scale.x * (nibble_dot(w[0], x) - 8.0 * sum);
}

void quant_unpack(uvec4 w[QUANT_QUADS], vec2 scale, out vec4 v[8])
{
    nibble_unpack(w[0], scale, v);
}
