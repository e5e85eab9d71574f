// Q8_0: weight = d * byte, the byte signed. Two quads a row and block:
//
//   quad      0                                    1
//   word      0         1         2         3      0          ..   3
//   element   0 1 2 3   4 5 6 7   8 .. 11   ..     16 .. 19   ..   28 .. 31   the first byte low
//
// Scale word: f16 d of two blocks, the even one low.
#include "lib/unpack.glsl"
#include "quant/paired_scale.glsl"

struct QuantBlock {
    uvec4 quads[2];
    PairedScale d;
};

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint index = quant_index(tile, block, n_block, 2u, row);
    w.quads[0] = quad_at(index);
    w.quads[1] = quad_at(index + TILE_ROWS);
    w.d = paired_scale(tile, block, n_block, row, 1u);
    return w;
}

const float byte_weight = 1.0 / 16777216.0;

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    vec4 p = bytes_at_top(w.quads[0].x) * x[0];
    p += bytes_at_top(w.quads[0].y) * x[1];
    p += bytes_at_top(w.quads[0].z) * x[2];
    p += bytes_at_top(w.quads[0].w) * x[3];
    p += bytes_at_top(w.quads[1].x) * x[4];
    p += bytes_at_top(w.quads[1].y) * x[5];
    p += bytes_at_top(w.quads[1].z) * x[6];
    p += bytes_at_top(w.quads[1].w) * x[7];
    return scale_of(w.d) * byte_weight * ((p.x + p.y) + (p.z + p.w));
}

vec4 quant_quad(QuantBlock w, int k)
{
    return bytes_at_top((k < 4 ? w.quads[0] : w.quads[1])[k & 3]) * (scale_of(w.d) * byte_weight);
}

#if DOT
#define QUANT_SPLIT 1
#include "quant/dot.glsl"

struct QuantRow {
    uint quads, aux;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block, 2u, row),
                    quant_index(tile, 0u, (n_block + 1u) / 2u, 1u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    QuantBlock w;
    uint index = row.quads + block * 2u * TILE_ROWS;
    w.quads[0] = quad_at(index);
    w.quads[1] = quad_at(index + TILE_ROWS);
    highp vec2 d = unpackHalf2x16(aux_at(row.aux + pair * TILE_ROWS));
    w.d = odd == 0u ? d.x : d.y;
    return w;
}

void quant_part(QuantBlock w, int k, vec4 a, vec4 b, inout DotSum s)
{
    dot_bytes(w.quads[k / 2][k % 2 * 2], a, s);
    dot_bytes(w.quads[k / 2][k % 2 * 2 + 1], b, s);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    return scale_of(w.d) * dot_bytes_end(s, sum);
}
#endif

#if HALF
#define QUANT_TWO 1

void quant_load_two(uint tile, uint two, uint n_two, uint row, out QuantBlock a, out QuantBlock b)
{
    uint at = quant_index(tile, two, n_two, 4u, row);
    a.quads[0] = quad_at(at);
    a.quads[1] = quad_at(at + TILE_ROWS);
    b.quads[0] = quad_at(at + 2u * TILE_ROWS);
    b.quads[1] = quad_at(at + 3u * TILE_ROWS);
    part_scales(aux_at(quant_index(tile, two, n_two, 1u, row)), a.d, b.d);
}

#define QUANT_PAIRS PAIRS_OF_BYTES
#define QUANT_SCALES 1

// Signed bytes as unsigned ones, 128 higher.
mediump vec2 quant_half(QuantBlock w, int k, uvec4 x, mediump vec2 h)
{
    uvec4 quad = w.quads[k / 2];
    uvec2 words = (k & 1) == 0 ? quad.xy : quad.zw;
    words ^= 0x80808080u;
    return half_bytes(words.y, x.zw, half_bytes(words.x, x.xy, h));
}

float quant_half_end(QuantBlock w, vec2 p, vec2 sum)
{
    return scale_of(w.d) * (p.x - 128.0 * (sum.x + sum.y));
}
#endif

#if WORDS || HALF_WORDS
#include "lib/half_pair.glsl"

// d * (u - 128) of the low bytes of the halves of a word: 0x6400 + u are the bits of 1024 + u.
highp uint byte_pair(highp uint bits, mediump vec2 d)
{
    mediump vec2 pair = half_pair((bits & 0x00FF00FFu) | 0x64006400u);
    pair -= 1152.0;
    pair *= d;
    return packHalf2x16(pair);
}

// Pairs (0, 4) (1, 5) (2, 6) (3, 7) of the signed bytes of two words.
uvec4 byte_pairs(highp uint a, highp uint b, mediump vec2 d)
{
    highp uint low = ((a & 0xFFFFu) | (b << 16u)) ^ 0x80808080u;
    highp uint high = ((a >> 16u) | (b & 0xFFFF0000u)) ^ 0x80808080u;
    return uvec4(byte_pair(low, d), byte_pair(low >> 8u, d), byte_pair(high, d),
                 byte_pair(high >> 8u, d));
}
#endif

#if WORDS
#define QUANT_WORDS 1

struct QuantWords {
    uvec4 low, high, d; // d: the f16 of each row in both halves
};

QuantWords quant_load_words(uint tile, uint block, uint n_block, uint row, uint k)
{
    QuantWords w;
    uint at = 4u * (quant_index(tile, block, n_block, 2u, row) + k / 2u * TILE_ROWS) + k % 2u * 2u;
    uvec4 d = aux_quads[quant_index(tile, block / 2u, (n_block + 1u) / 2u, 1u, row) / 4u];
    w.low = uvec4(quad_words[at], quad_words[at + 4u], quad_words[at + 8u], quad_words[at + 12u]);
    w.high = uvec4(quad_words[at + 1u], quad_words[at + 5u], quad_words[at + 9u], quad_words[at + 13u]);
    w.d = (block & 1u) == 0u ? (d & 0xFFFFu) | (d << 16u) : (d >> 16u) | (d & 0xFFFF0000u);
    return w;
}

void quant_half_words(QuantWords w, out uvec4 p[4])
{
    mediump vec2 d0 = half_pair(w.d.x), d1 = half_pair(w.d.y);
    mediump vec2 d2 = half_pair(w.d.z), d3 = half_pair(w.d.w);
    p[0] = byte_pairs(w.low.x, w.high.x, d0);
    p[1] = byte_pairs(w.low.y, w.high.y, d1);
    p[2] = byte_pairs(w.low.z, w.high.z, d2);
    p[3] = byte_pairs(w.low.w, w.high.w, d3);
}
#endif

#if HALF_WORDS
#define QUANT_HALF_WORD 1

uvec4 quant_half_word(QuantBlock w, int k)
{
    mediump vec2 d = vec2(scale_of(w.d));
    highp uvec4 quad = k < 2 ? w.quads[0] : w.quads[1];
    return (k & 1) == 0 ? byte_pairs(quad.x, quad.y, d) : byte_pairs(quad.z, quad.w, d);
}
#endif
