// Q5_0: weight = d * (quant - 16), quants of five bits. One quad a row and block, nibbles. Scale
// words, three for two blocks: f16 d of each, the even one low; the planes of their fifth bits.
#include "quant/paired_scale.glsl"

struct QuantBlock {
    uvec4 quad;
    uint high;
    PairedScale d;
};

#include "quant/fields.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = quad_at(quant_index(tile, block, n_block, 1u, row));
    uint at = quant_index(tile, block / 2u, (n_block + 1u) / 2u, 3u, row);
    w.high = aux_at(at + (1u + (block & 1u)) * TILE_ROWS);
    w.d = paired_scale(tile, block, n_block, row, 3u);
    return w;
}

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(nibbles_at(w.quad, k), 0xFu) |
                           mask_fields(bits_at(w.high, k, 4), 0x10u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return scale_of(w.d) * (fields_dot(w, x) - 16.0 * (sum.x + sum.y));
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, vec2(scale_of(w.d)), vec2(-16.0 * scale_of(w.d)), k);
}

#if DOT
#define QUANT_BITS 5
#include "quant/plane_dot.glsl"

struct QuantRow {
    uint quads, aux;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block, 1u, row),
                    quant_index(tile, 0u, (n_block + 1u) / 2u, 3u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    QuantBlock w;
    uint at = row.aux + pair * (3u * TILE_ROWS);
    w.quad = quad_at(row.quads + block * TILE_ROWS);
    w.high = aux_at(at + (1u + odd) * TILE_ROWS);
    highp vec2 d = unpackHalf2x16(aux_at(at));
    w.d = odd == 0u ? d.x : d.y;
    return w;
}

uvec2 quant_bytes(QuantBlock w, int k)
{
    return nibble_bytes(w.quad, k) | (bit_bytes(w.high, k) << 4u);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    vec2 halves = dot_halves_end(s, 16.0, sum);
    return scale_of(w.d) * (halves.x + halves.y);
}
#endif
