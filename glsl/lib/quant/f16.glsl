// F16: 4 quads a row and block; word i of quad q holds elements 8 q + 2 i (low half) and 8 q + 2 i + 1.
// No scales.
#define QUANT_QUADS 4

vec2 quant_scale(uint tile, uint block, uint n_block, uint row)
{
    return vec2(1.0, 0.0);
}

// unpackHalf2x16 is mediump in GLSL ES: the assignments make the halves highp before arithmetic.
vec4 half4(uvec2 w)
{
    highp vec2 low = unpackHalf2x16(w.x);
    highp vec2 high = unpackHalf2x16(w.y);
    return vec4(low, high);
}

float quant_dot(uvec4 w[QUANT_QUADS], vec2 scale, vec4 x[8], float sum)
{
    vec4 p = half4(w[0].xy) * x[0];
    p += half4(w[0].zw) * x[1];
    p += half4(w[1].xy) * x[2];
    p += half4(w[1].zw) * x[3];
    p += half4(w[2].xy) * x[4];
    p += half4(w[2].zw) * x[5];
    p += half4(w[3].xy) * x[6];
    p += half4(w[3].zw) * x[7];
    return (p.x + p.y) + (p.z + p.w);
}

void quant_unpack(uvec4 w[QUANT_QUADS], vec2 scale, out vec4 v[8])
{
    v[0] = half4(w[0].xy);
    v[1] = half4(w[0].zw);
    v[2] = half4(w[1].xy);
    v[3] = half4(w[1].zw);
    v[4] = half4(w[2].xy);
    v[5] = half4(w[2].zw);
    v[6] = half4(w[3].xy);
    v[7] = half4(w[3].zw);
}
