// F16: 4 quads a row and block; word i of quad q holds elements 8 q + 2 i (low half) and 8 q + 2 i + 1.
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

// unpackHalf2x16 is mediump in GLSL ES: the assignments make the halves highp before arithmetic.
vec4 half4(uvec2 w)
{
    highp vec2 low = unpackHalf2x16(w.x);
    highp vec2 high = unpackHalf2x16(w.y);
    return vec4(low, high);
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    vec4 p = half4(w.quads[0].xy) * x[0];
    p += half4(w.quads[0].zw) * x[1];
    p += half4(w.quads[1].xy) * x[2];
    p += half4(w.quads[1].zw) * x[3];
    p += half4(w.quads[2].xy) * x[4];
    p += half4(w.quads[2].zw) * x[5];
    p += half4(w.quads[3].xy) * x[6];
    p += half4(w.quads[3].zw) * x[7];
    return (p.x + p.y) + (p.z + p.w);
}

vec4 quant_quad(QuantBlock w, int k)
{
    uvec4 quad = w.quads[k >> 1];
    return half4((k & 1) == 0 ? quad.xy : quad.zw);
}
