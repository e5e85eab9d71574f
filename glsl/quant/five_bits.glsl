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
