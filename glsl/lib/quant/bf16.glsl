// BF16: 4 quads a row and block; word i of quad q holds elements 8 q + 2 i (low half) and 8 q + 2 i + 1.
// No scales.
struct QuantBlock {
    uvec4 quads[4];
};

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block, n_block, 4u, row);
    for (int i = 0; i < 4; i++) {
        w.quads[i] = quad_at(index + uint(i) * TILE_ROWS);
    }
    return w;
}

// An element is the upper half of an f32.
vec4 bfloat4(uvec2 w)
{
    return uintBitsToFloat(uvec4(w.x << 16u, w.x & 0xFFFF0000u, w.y << 16u, w.y & 0xFFFF0000u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    vec4 p = bfloat4(w.quads[0].xy) * x[0];
    p += bfloat4(w.quads[0].zw) * x[1];
    p += bfloat4(w.quads[1].xy) * x[2];
    p += bfloat4(w.quads[1].zw) * x[3];
    p += bfloat4(w.quads[2].xy) * x[4];
    p += bfloat4(w.quads[2].zw) * x[5];
    p += bfloat4(w.quads[3].xy) * x[6];
    p += bfloat4(w.quads[3].zw) * x[7];
    return (p.x + p.y) + (p.z + p.w);
}

vec4 quant_quad(QuantBlock w, int k)
{
    uvec4 quad = w.quads[k >> 1];
    return bfloat4((k & 1) == 0 ? quad.xy : quad.zw);
}
