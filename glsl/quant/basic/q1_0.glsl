// Q1_0: weight = d or -d, by a bit that is set for d. A quad a row and four blocks, of 16 chunks of
// eight weights: bit p + 16 h of word i is of weight 4 h + i of chunk p. Scale word: f16 d of two
// quads, the even one low.
struct QuantBlock {
    uvec4 quad; // its four chunks from bit 0 on
    float d;
};

float scale_of(uint word, uint four)
{
    highp vec2 d = unpackHalf2x16(word);
    return (four & 1u) == 0u ? d.x : d.y;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint four = block / 4u, n_four = n_block / 4u;
    w.quad = quad_at(quant_index(tile, four, n_four, 1u, row)) >> (4u * (block & 3u));
    w.d = scale_of(aux_at(quant_index(tile, four / 2u, (n_four + 1u) / 2u, 1u, row)), four);
    return w;
}

// A number where the bit of weights 4 k .. 4 k + 3 is set, else its negative.
vec4 signed_quad(QuantBlock w, int k, float number)
{
    uvec4 signs = (w.quad << uint(31 - (k >> 1) - 16 * (k & 1))) & 0x80000000u;
    return uintBitsToFloat(signs ^ floatBitsToUint(-number));
}

#define SIGNS(k) signed_quad(w, k, 1.0)

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    SUM_QUADS(p, SIGNS)
    return w.d * ((p.x + p.y) + (p.z + p.w));
}

vec4 quant_quad(QuantBlock w, int k)
{
    return signed_quad(w, k, w.d);
}

#if DOT && !SERIAL
#define QUANT_FOUR 1
#include "quant/dot.glsl"

struct QuantRow {
    uint quads, aux;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block / 4u, 1u, row),
                    quant_index(tile, 0u, (n_block + 7u) / 8u, 1u, row));
}

QuantRow quant_row_after(QuantRow row, uint fours)
{
    return QuantRow(row.quads + fours * TILE_ROWS, row.aux + fours / 2u * TILE_ROWS);
}

uvec4 quant_four(QuantRow row, uint four)
{
    return quad_at(row.quads + four * TILE_ROWS);
}

vec2 quant_four_scales(QuantRow row)
{
    highp vec2 d = unpackHalf2x16(aux_at(row.aux));
    return d;
}

float quant_four_scale(QuantRow row, uint four)
{
    return scale_of(aux_at(row.aux + four / 2u * TILE_ROWS), four);
}
#endif

#if HALF
#define QUANT_PAIRS PAIRS_OF_NIBBLES
#define QUANT_SCALES 1

// Bits stand where nibbles do: those of odd words four bits higher.
mediump vec2 quant_half(QuantBlock w, int k, uvec4 x, mediump vec2 h)
{
    highp uvec4 quad = uvec4(w.quad.x >> uint(k), move_bits(w.quad.y, 4 - k), w.quad.z >> uint(k),
                             move_bits(w.quad.w, 4 - k)) &
                       uvec4(0x00010001u, 0x00100010u, 0x00010001u, 0x00100010u);
    h += half_pair(quad.x) * half_pair(x.x);
    h += half_pair(quad.y) * half_pair(x.y);
    h += half_pair(quad.z) * half_pair(x.z);
    h += half_pair(quad.w) * half_pair(x.w);
    return h;
}

float quant_half_end(QuantBlock w, vec2 p, vec2 sum)
{
    return w.d * (2.0 * p.x - (sum.x + sum.y));
}
#endif
