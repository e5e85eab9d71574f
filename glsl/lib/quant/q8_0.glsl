// Q8_0: weight = d * byte, the byte signed. Two quads a row and block:
//
//   quad      0                                    1
//   word      0         1         2         3      0          ..   3
//   element   0 1 2 3   4 5 6 7   8 .. 11   ..     16 .. 19   ..   28 .. 31   the first byte low
//
// Scale word: f16 d of two blocks, the even one low.
#define QUANT_QUADS 2

#include "lib/quant/paired_scale.glsl"

vec2 quant_scale(uint tile, uint block, uint n_block, uint row)
{
    return vec2(paired_scale(tile, block, n_block, row), 0.0);
}

// The four bytes of a word, each times 2^24: the sign comes with the top byte, no arithmetic shift.
vec4 bytes_at_top(uint w)
{
    return vec4(ivec4(uvec4(w << 24u, (w << 16u) & 0xFF000000u, (w << 8u) & 0xFF000000u,
                            w & 0xFF000000u)));
}

const float byte_weight = 1.0 / 16777216.0;

float quant_dot(uvec4 w[QUANT_QUADS], vec2 scale, vec4 x[8], float sum)
{
    vec4 p = bytes_at_top(w[0].x) * x[0];
    p += bytes_at_top(w[0].y) * x[1];
    p += bytes_at_top(w[0].z) * x[2];
    p += bytes_at_top(w[0].w) * x[3];
    p += bytes_at_top(w[1].x) * x[4];
    p += bytes_at_top(w[1].y) * x[5];
    p += bytes_at_top(w[1].z) * x[6];
    p += bytes_at_top(w[1].w) * x[7];
    return scale.x * byte_weight * ((p.x + p.y) + (p.z + p.w));
}

void quant_unpack(uvec4 w[QUANT_QUADS], vec2 scale, out vec4 v[8])
{
    float d = scale.x * byte_weight;
    v[0] = bytes_at_top(w[0].x) * d;
    v[1] = bytes_at_top(w[0].y) * d;
    v[2] = bytes_at_top(w[0].z) * d;
    v[3] = bytes_at_top(w[0].w) * d;
    v[4] = bytes_at_top(w[1].x) * d;
    v[5] = bytes_at_top(w[1].y) * d;
    v[6] = bytes_at_top(w[1].z) * d;
    v[7] = bytes_at_top(w[1].w) * d;
}
