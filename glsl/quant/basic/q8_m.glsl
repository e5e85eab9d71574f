// Q8_M: weight = d * byte + m, the byte unsigned. Two quads a row and block:
//
//   quad      0                                    1
//   word      0         1         2         3      0          ..   3
//   element   0 1 2 3   4 5 6 7   8 .. 11   ..     16 .. 19   ..   28 .. 31   the first byte low
//
// Scale word: f16 d low, f16 m high, of one block.
#include "lib/unpack.glsl"

struct QuantBlock {
    uvec4 quads[2];
    vec2 scale;
};

QuantBlock load_at(uint index, uint aux_index)
{
    QuantBlock w;
    w.quads[0] = quad_at(index);
    w.quads[1] = quad_at(index + TILE_ROWS);
    highp vec2 scale = unpackHalf2x16(aux_at(aux_index));
    w.scale = scale;
    return w;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return load_at(quant_index(tile, block, n_block, 2u, row),
                   quant_index(tile, block, n_block, 1u, row));
}

vec4 quad_bytes(QuantBlock w, int k)
{
    return bytes_of((k < 4 ? w.quads[0] : w.quads[1])[k & 3]);
}

#define QUAD_BYTES(k) quad_bytes(w, k)

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    SUM_QUADS(p, QUAD_BYTES)
    return w.scale.x * ((p.x + p.y) + (p.z + p.w)) + w.scale.y * (sum.x + sum.y);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return quad_bytes(w, k) * w.scale.x + w.scale.y;
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
                    quant_index(tile, 0u, n_block, 1u, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    return load_at(row.quads + block * (2u * TILE_ROWS), row.aux + block * TILE_ROWS);
}

void quant_part(QuantBlock w, int k, vec4 a, vec4 b, inout DotSum s)
{
    dot_unsigned(w.quads[k / 2][k % 2 * 2], a, s);
    dot_unsigned(w.quads[k / 2][k % 2 * 2 + 1], b, s);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    return w.scale.x * dot_unsigned_end(s, sum) + w.scale.y / dot_scale * (sum.x + sum.y);
}
#endif

#if HALF
#define QUANT_PAIRS PAIRS_OF_BYTES
#define QUANT_SCALES 1

mediump vec2 quant_half(QuantBlock w, int k, uvec4 x, mediump vec2 h)
{
    uvec4 quad = w.quads[k / 2];
    uvec2 words = (k & 1) == 0 ? quad.xy : quad.zw;
    return half_bytes(words.y, x.zw, half_bytes(words.x, x.xy, h));
}

float quant_half_end(QuantBlock w, vec2 p, vec2 sum)
{
    return w.scale.x * p.x + w.scale.y * (sum.x + sum.y);
}
#endif
