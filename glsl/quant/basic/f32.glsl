// F32: 8 quads a row and block; word i of quad q is element 4 q + i. No scales.
struct QuantBlock {
    uvec4 quads[8];
};

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block, n_block, 8u, row);
    for (int i = 0; i < 8; i++) {
        w.quads[i] = quad_at(index + uint(i) * TILE_ROWS);
    }
    return w;
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    vec4 p = uintBitsToFloat(w.quads[0]) * x[0];
    p += uintBitsToFloat(w.quads[1]) * x[1];
    p += uintBitsToFloat(w.quads[2]) * x[2];
    p += uintBitsToFloat(w.quads[3]) * x[3];
    p += uintBitsToFloat(w.quads[4]) * x[4];
    p += uintBitsToFloat(w.quads[5]) * x[5];
    p += uintBitsToFloat(w.quads[6]) * x[6];
    p += uintBitsToFloat(w.quads[7]) * x[7];
    return (p.x + p.y) + (p.z + p.w);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return uintBitsToFloat(w.quads[k]);
}
