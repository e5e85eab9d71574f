// TQ1_0: weight = d * (digit - 1), five digits of base 3 a byte, as in the file: digit j is the top
// of 3^j * byte modulo 256, times 3. Three quads a row and super-block of 8 blocks, bytes 0 .. 47,
// and in the scale words, three for two super-blocks, f16 d of each and the last four bytes of
// each.
//
//   block    weights 0 .. 15               weights 16 .. 31
//   0 .. 4   digit b of quad 0             digit b of quad 1
//   5, 6     digit 2 b - 10 of quad 2      digit 2 b - 9 of quad 2
//   7        digit 4 of quad 2             digits 0, 1, 2, 3 of the last four bytes
#define QUANT_BY_QUADS 1
struct QuantBlock {
    LateQuad first, last;          // a byte a weight
    uint first_power, last_powers; // of 3; of each word of last, a byte each
    uint rest;                     // of block 7, in place of last where LATE is 2
    float d;
};

#define REST_POWERS 0x1B090301u // of block 7

#include "quant/super_pair.glsl"

uint power_of_3(uint n)
{
    return n < 4u ? (0x1B090301u >> (8u * n)) & 0xFFu : 81u;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uint b = block & 7u;
    uint index = quant_index(tile, block / 8u, n_block / 8u, 3u, row);
    uint at = quant_index(tile, block / 16u, (n_block + 15u) / 16u, 3u, row);
    w.first = late_quad(index + (b < 5u ? 0u : 2u) * TILE_ROWS);
    w.last = late_quad(index + (b < 5u ? 1u : 2u) * TILE_ROWS);
    w.first_power = power_of_3(b < 5u ? b : 2u * b - 10u);
    w.last_powers = power_of_3(b < 5u ? b : 2u * b - 9u) * 0x01010101u;
    if (b == 7u) {
        w.last_powers = REST_POWERS;
        w.rest = aux_at(at + (1u + (block / 8u & 1u)) * TILE_ROWS);
#if LATE != 2
        w.last = uvec4(w.rest);
#endif
    }
    w.d = super_pair_scale(tile, block, n_block, row, 3u, 0u);
    return w;
}

const vec4 digit_weight = vec4(1.0 / 256.0, 1.0 / 256.0, 1.0 / 16777216.0, 1.0 / 16777216.0);

// Bytes 4 k .. 4 k + 3 of first and last.
uint four_bytes(QuantBlock w, int k)
{
#if LATE == 2
    return k >= 4 && w.last_powers == REST_POWERS ? w.rest : quad_at(k < 4 ? w.first : w.last)[k & 3];
#else
    return k < 4 ? w.first[k & 3] : w.last[k & 3];
#endif
}

// The digits of four bytes where they come out.
vec4 digits_in_place(uint w, uint power)
{
    uvec2 bytes = uvec2(w, w >> 8u) & 0x00FF00FFu;
    bytes = ((bytes * power) & 0x00FF00FFu) * 3u;
    return vec4(ivec4(bytes.xyxy & uvec4(0x300u, 0x300u, 0x3000000u, 0x3000000u)));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    vec4 p = digits_in_place(LATE_QUAD(w.first).x, w.first_power) * x[0];
    p += digits_in_place(LATE_QUAD(w.first).y, w.first_power) * x[1];
    p += digits_in_place(LATE_QUAD(w.first).z, w.first_power) * x[2];
    p += digits_in_place(LATE_QUAD(w.first).w, w.first_power) * x[3];
    p += digits_in_place(LATE_QUAD(w.last).x, w.last_powers & 0xFFu) * x[4];
    p += digits_in_place(LATE_QUAD(w.last).y, (w.last_powers >> 8u) & 0xFFu) * x[5];
    p += digits_in_place(LATE_QUAD(w.last).z, (w.last_powers >> 16u) & 0xFFu) * x[6];
    p += digits_in_place(LATE_QUAD(w.last).w, w.last_powers >> 24u) * x[7];
    return w.d * (dot(p, digit_weight) - (sum.x + sum.y));
}

vec4 quant_quad(QuantBlock w, int k)
{
    uint power = k < 4 ? w.first_power : (w.last_powers >> (8 * (k & 3))) & 0xFFu;
    vec4 digits = digits_in_place(four_bytes(w, k), power);
    return digits * (w.d * digit_weight) - w.d;
}
