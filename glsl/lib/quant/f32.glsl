// F32: 8 quads a row and block; word i of quad q is element 4 q + i. No scales.
#define QUANT_QUADS 8

vec2 quant_scale(uint tile, uint block, uint n_block, uint row)
{
    return vec2(1.0, 0.0);
}

float quant_dot(uvec4 w[QUANT_QUADS], vec2 scale, vec4 x[8], float sum)
{
    vec4 p = uintBitsToFloat(w[0]) * x[0];
    p += uintBitsToFloat(w[1]) * x[1];
    p += uintBitsToFloat(w[2]) * x[2];
    p += uintBitsToFloat(w[3]) * x[3];
    p += uintBitsToFloat(w[4]) * x[4];
    p += uintBitsToFloat(w[5]) * x[5];
    p += uintBitsToFloat(w[6]) * x[6];
    p += uintBitsToFloat(w[7]) * x[7];
    return (p.x + p.y) + (p.z + p.w);
}

void quant_unpack(uvec4 w[QUANT_QUADS], vec2 scale, out vec4 v[8])
{
    v[0] = uintBitsToFloat(w[0]);
    v[1] = uintBitsToFloat(w[1]);
    v[2] = uintBitsToFloat(w[2]);
    v[3] = uintBitsToFloat(w[3]);
    v[4] = uintBitsToFloat(w[4]);
    v[5] = uintBitsToFloat(w[5]);
    v[6] = uintBitsToFloat(w[6]);
    v[7] = uintBitsToFloat(w[7]);
}
