// Q4_1: weight = d * nibble + m. One quad a row and block:
//
//   word      0           1            2             3
//   element   0 1 .. 7    8 9 .. 15    16 17 .. 23   24 25 .. 31   four bits each, the first low
//
// Scale word: f16 d low, f16 m high, of one block.
#include "quant/nibbles.glsl"

QuantBlock load_at(uint index)
{
    QuantBlock w;
    w.quad = quad_at(index);
    highp vec2 scale = unpackHalf2x16(aux_at(index));
    w.scale = scale;
    return w;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return load_at(quant_index(tile, block, n_block, 1u, row));
}

#if DOT
struct QuantRow {
    uint quads; // scale words lie alike
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block, 1u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    return load_at(row.quads + block * TILE_ROWS);
}
#endif

#if WORDS
#define QUANT_WORDS 1

struct QuantWords {
    uvec4 words, scales; // scales: as they lie
};

QuantWords quant_load_words(uint tile, uint block, uint n_block, uint row, uint k)
{
    QuantWords w;
    uint index = quant_index(tile, block, n_block, 1u, row), at = 4u * index + k;
    w.words = uvec4(quad_words[at], quad_words[at + 4u], quad_words[at + 8u], quad_words[at + 12u]);
    w.scales = aux_quads[index / 4u];
    return w;
}

uvec4 pairs_of_row(highp uint word, highp uint scales)
{
    mediump vec2 scale = half_pair(scales);
    mediump vec2 d = scale.xx, middle = scale.yy;
    middle += 8.0 * d;
    return shifted_pairs(word, d, middle);
}

void quant_half_words(QuantWords w, out uvec4 p[4])
{
    p[0] = pairs_of_row(w.words.x, w.scales.x);
    p[1] = pairs_of_row(w.words.y, w.scales.y);
    p[2] = pairs_of_row(w.words.z, w.scales.z);
    p[3] = pairs_of_row(w.words.w, w.scales.w);
}
#endif
