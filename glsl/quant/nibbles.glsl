// Q4_1 and Q4_K: weight = scale.x * nibble + scale.y, 32 nibbles of a block in natural order.
struct QuantBlock {
    uvec4 quad; // words of eight, the first low
    vec2 scale;
};

#include "quant/scaled_fields.glsl"

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(nibbles_at(w.quad, k), 0xFu));
}

#if DOT
#define QUANT_SPLIT 1
#include "quant/dot.glsl"

void quant_part(QuantBlock w, int k, vec4 a, vec4 b, inout DotSum s)
{
    dot_nibbles(w.quad[k], a, b, s);
}

float quant_end(QuantBlock w, DotSum s, vec2 sum)
{
    return w.scale.x * dot_nibbles_end(s, 0.0, sum) + w.scale.y / dot_scale * (sum.x + sum.y);
}
#endif

#if HALF
#define QUANT_PAIRS PAIRS_OF_NIBBLES
#define QUANT_SCALES 1

mediump vec2 quant_half(QuantBlock w, int k, uvec4 x, mediump vec2 h)
{
    return half_nibbles(w.quad[k], x, h);
}

float quant_half_end(QuantBlock w, vec2 p, vec2 sum)
{
    return w.scale.x * p.x + w.scale.y * (sum.x + sum.y);
}
#endif

#if WORDS || HALF_WORDS
#include "quant/nibble_pairs.glsl"
#endif

#if HALF_WORDS
#define QUANT_HALF_WORD 1

uvec4 quant_half_word(QuantBlock w, int k)
{
    highp float center = 8.0 * w.scale.x + w.scale.y;
    mediump vec2 d = vec2(w.scale.x), middle = vec2(center);
    return shifted_pairs(w.quad[k], d, middle);
}
#endif
