// F32: 8 quads a row and block; word i of quad q is element 4 q + i. No scales.
#if LATE
struct QuantBlock {
    uint index;
};

#define F32_QUAD(w, i) uintBitsToFloat(quad_at((w).index + uint(i) * TILE_ROWS))

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return QuantBlock(quant_index(tile, block, n_block, 8u, row));
}
#else
struct QuantBlock {
    uvec4 quads[8];
};

#define F32_QUAD(w, i) uintBitsToFloat((w).quads[i])

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block, n_block, 8u, row);
    for (int i = 0; i < 8; i++) {
        w.quads[i] = quad_at(index + uint(i) * TILE_ROWS);
    }
    return w;
}
#endif

#define QUANT_QUADS 8u
#define QUAD_VECTORS 1
#define QUAD_VECTOR(quad, k) uintBitsToFloat(quad)

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
#define FLOATS(k) F32_QUAD(w, k)
    SUM_QUADS(p, FLOATS)
    return (p.x + p.y) + (p.z + p.w);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return F32_QUAD(w, k);
}
