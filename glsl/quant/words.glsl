// Weights of 16 bits, two to a word and without scales: 4 quads a row and block. A type that
// includes this file defines
//
//   vec4 quant_words(uvec2 w)    the four elements of two words
#if LATE
struct QuantBlock {
    uint index;
};

#define WORDS_QUAD(w, i) quad_at((w).index + uint(i) * TILE_ROWS)

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return QuantBlock(quant_index(tile, block, n_block, 4u, row));
}
#else
struct QuantBlock {
    uvec4 quads[4];
};

#define WORDS_QUAD(w, i) (w).quads[i]

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block, n_block, 4u, row);
    for (int i = 0; i < 4; i++) {
        w.quads[i] = quad_at(index + uint(i) * TILE_ROWS);
    }
    return w;
}
#endif

vec4 quant_words(uvec2 w);

#define QUANT_QUADS 4u
#define QUAD_VECTORS 2
#define QUAD_VECTOR(quad, k) quant_words((k) == 0 ? (quad).xy : (quad).zw)

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    vec4 p = quant_words(WORDS_QUAD(w, 0).xy) * x[0];
    p += quant_words(WORDS_QUAD(w, 0).zw) * x[1];
    p += quant_words(WORDS_QUAD(w, 1).xy) * x[2];
    p += quant_words(WORDS_QUAD(w, 1).zw) * x[3];
    p += quant_words(WORDS_QUAD(w, 2).xy) * x[4];
    p += quant_words(WORDS_QUAD(w, 2).zw) * x[5];
    p += quant_words(WORDS_QUAD(w, 3).xy) * x[6];
    p += quant_words(WORDS_QUAD(w, 3).zw) * x[7];
    return (p.x + p.y) + (p.z + p.w);
}

vec4 quant_quad(QuantBlock w, int k)
{
    uvec4 quad = WORDS_QUAD(w, k >> 1);
    return quant_words((k & 1) == 0 ? quad.xy : quad.zw);
}
