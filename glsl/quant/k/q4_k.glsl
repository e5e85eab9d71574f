// Q4_K: weight = d * scale * nibble - d_min * min. Nine quads a row and super-block of 8 blocks:
// the first holds f16 d low, d_min high, and the scales and minima (k_scales.glsl), the others the
// nibbles of a block each. No scale words.
#include "quant/nibbles.glsl"
#include "quant/k/k_scales.glsl"

// Loads block b of a super-block.
QuantBlock load_at(uint index, uint b)
{
    QuantBlock w;
    uvec4 header = quad_at(index);
    w.quad = quad_at(index + (1u + b) * TILE_ROWS);
    highp vec2 d = unpackHalf2x16(header.x);
    w.scale = vec2(d.x, -d.y) * k_scales(header, b);
    return w;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return load_at(quant_index(tile, block / 8u, n_block / 8u, 9u, row), block & 7u);
}

#if DOT
struct QuantRow {
    uint quads;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block / 8u, 9u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    return load_at(row.quads + pair / 4u * (9u * TILE_ROWS), 2u * (pair & 3u) + odd);
}
#endif

#if WORDS
#define QUANT_WORDS 1

struct QuantWords { // of four rows
    uvec4 words;        // of nibbles
    uvec4 d, low, high; // of the header: its word 0, 1 or 2, and 3
    uint block;
};

uvec4 load_words(uint at)
{
    return uvec4(quad_words[at], quad_words[at + 4u], quad_words[at + 8u], quad_words[at + 12u]);
}

QuantWords quant_load_words(uint tile, uint block, uint n_block, uint row, uint k)
{
    QuantWords w;
    uint at = 4u * quant_index(tile, block / 8u, n_block / 8u, 9u, row);
    w.block = block & 7u;
    w.words = load_words(at + 4u * (1u + w.block) * TILE_ROWS + k);
    w.d = load_words(at);
    w.low = load_words(at + 1u + w.block / 4u);
    w.high = load_words(at + 3u);
    return w;
}

uvec4 pairs_of_row(highp uint word, highp uint d, uint low, uint high, uint block)
{
    highp vec2 factors = unpackHalf2x16(d);
    highp vec2 scale = vec2(factors.x, -factors.y) * k_scales(uvec4(0u, low, low, high), block);
    highp float center = 8.0 * scale.x + scale.y;
    mediump vec2 step = vec2(scale.x), middle = vec2(center);
    return shifted_pairs(word, step, middle);
}

void quant_half_words(QuantWords w, out uvec4 p[4])
{
    p[0] = pairs_of_row(w.words.x, w.d.x, w.low.x, w.high.x, w.block);
    p[1] = pairs_of_row(w.words.y, w.d.y, w.low.y, w.high.y, w.block);
    p[2] = pairs_of_row(w.words.z, w.d.z, w.low.z, w.high.z, w.block);
    p[3] = pairs_of_row(w.words.w, w.d.w, w.low.w, w.high.w, w.block);
}
#endif
