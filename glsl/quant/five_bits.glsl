// Q5_1 and Q5_K: weight = scale.x * quant + scale.y, 32 quants of five bits in natural order.
struct QuantBlock {
    uvec4 quad; // nibbles, words of eight, the first low
    uint high;  // the plane of the fifth bits
    vec2 scale;
};

#include "quant/scaled_fields.glsl"

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(nibbles_at(w.quad, k), 0xFu) |
                           mask_fields(bits_at(w.high, k, 4), 0x10u));
}

#if DOT
#define QUANT_BITS 5
#include "quant/plane_dot.glsl"

uvec2 quant_bytes(QuantBlock w, int k)
{
    return nibble_bytes(w.quad, k) | (bit_bytes(w.high, k) << 4u);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    vec2 halves = dot_halves_end(s, 0.0, sum);
    return w.scale.x * (halves.x + halves.y) + w.scale.y / dot_scale * (sum.x + sum.y);
}
#endif
