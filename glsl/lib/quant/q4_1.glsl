// Q4_1: weight = d * nibble + m. One quad a row and block:
//
//   word      0           1            2             3
//   element   0 1 .. 7    8 9 .. 15    16 17 .. 23   24 25 .. 31   four bits each, the first low
//
// Scale word: f16 d low, f16 m high, of one block.
#define QUANT_QUADS 1

#include "lib/quant/nibble.glsl"

vec2 quant_scale(uint tile, uint block, uint n_block, uint row)
{
    highp vec2 scale = unpackHalf2x16(aux_at((tile * n_block + block) * TILE_ROWS + row));
    return scale;
}

float quant_dot(uvec4 w[QUANT_QUADS], vec2 scale, vec4 x[8], float sum)
{
    return scale.x * nibble_dot(w[0], x) + scale.y * sum;
}

void quant_unpack(uvec4 w[QUANT_QUADS], vec2 scale, out vec4 v[8])
{
    nibble_unpack(w[0], scale, v);
}
