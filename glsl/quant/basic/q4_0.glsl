// Q4_0: weight = d * (nibble - 8). One quad a row and block:
//
//   word      0           1            2             3
//   element   0 1 .. 7    8 9 .. 15    16 17 .. 23   24 25 .. 31   four bits each, the first low
//
// Scale word: f16 d of two blocks, the even one low.
#include "quant/paired_scale.glsl"

struct QuantBlock {
    uvec4 quad;
    PairedScale d;
};

#include "quant/fields.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = quad_at(quant_index(tile, block, n_block, 1u, row));
    w.d = paired_scale(tile, block, n_block, row, 1u);
    return w;
}

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(nibbles_at(w.quad, k), 0xFu));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return scale_of(w.d) * (fields_dot(w, x) - 8.0 * (sum.x + sum.y));
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, vec2(scale_of(w.d)), vec2(-8.0 * scale_of(w.d)), k);
}

#if DOT
#define QUANT_SPLIT 1
#include "quant/dot.glsl"

struct QuantRow {
    uint quads, aux;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block, 1u, row),
                    quant_index(tile, 0u, (n_block + 1u) / 2u, 1u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    QuantBlock w;
    w.quad = quad_at(row.quads + block * TILE_ROWS);
    highp vec2 d = unpackHalf2x16(aux_at(row.aux + pair * TILE_ROWS));
    w.d = odd == 0u ? d.x : d.y;
    return w;
}

void quant_part(QuantBlock w, int k, vec4 a, vec4 b, inout DotSum s)
{
#if DOT == DOT_BYTES && !SUMS
    dot_signed_nibbles(w.quad[k], a, b, s);
#else
    dot_nibbles(w.quad[k], a, b, s);
#endif
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
#if DOT == DOT_BYTES && !SUMS
    return scale_of(w.d) * (0.0625 * s.p);
#else
    return scale_of(w.d) * dot_nibbles_end(s, 8.0, sum);
#endif
}
#endif

#if HALF
#define QUANT_TWO 1

void quant_load_two(uint tile, uint two, uint n_two, uint row, out QuantBlock a, out QuantBlock b)
{
    uint at = quant_index(tile, two, n_two, 2u, row);
    a.quad = quad_at(at);
    b.quad = quad_at(at + TILE_ROWS);
    part_scales(aux_at(quant_index(tile, two, n_two, 1u, row)), a.d, b.d);
}

#define QUANT_PAIRS PAIRS_OF_NIBBLES
#define QUANT_SCALES 1

mediump vec2 quant_half(QuantBlock w, int k, uvec4 x, mediump vec2 h)
{
    return half_nibbles(w.quad[k], x, h);
}

float quant_half_end(QuantBlock w, vec2 p, vec2 sum)
{
    return scale_of(w.d) * (p.x - 8.0 * (sum.x + sum.y));
}
#endif

#if WORDS || HALF_WORDS
#include "quant/nibble_pairs.glsl"
#endif

#if WORDS
#define QUANT_WORDS 1

struct QuantWords {
    uvec4 words, d; // d: the f16 of each row in both halves
};

QuantWords quant_load_words(uint tile, uint block, uint n_block, uint row, uint k)
{
    QuantWords w;
    uint at = 4u * quant_index(tile, block, n_block, 1u, row) + k;
    uvec4 d = aux_quads[quant_index(tile, block / 2u, (n_block + 1u) / 2u, 1u, row) / 4u];
    w.words = uvec4(quad_words[at], quad_words[at + 4u], quad_words[at + 8u], quad_words[at + 12u]);
    w.d = (block & 1u) == 0u ? (d & 0xFFFFu) | (d << 16u) : (d >> 16u) | (d & 0xFFFF0000u);
    return w;
}

void quant_half_words(QuantWords w, out uvec4 p[4])
{
    p[0] = nibble_pairs(w.words.x, half_pair(w.d.x));
    p[1] = nibble_pairs(w.words.y, half_pair(w.d.y));
    p[2] = nibble_pairs(w.words.z, half_pair(w.d.z));
    p[3] = nibble_pairs(w.words.w, half_pair(w.d.w));
}
#endif

#if HALF_WORDS
#define QUANT_HALF_WORD 1

uvec4 quant_half_word(QuantBlock w, int k)
{
    mediump vec2 d = vec2(scale_of(w.d));
    return nibble_pairs(w.quad[k], d);
}
#endif
