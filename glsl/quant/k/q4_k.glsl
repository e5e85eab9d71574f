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
