// A block of weights d * (quant - 1) with quants of two bits.
struct QuantBlock {
    uvec2 pairs;
    float d;
};

#include "quant/fields.glsl"

vec4 quant_fields(QuantBlock w, int k)
{
    return fields_to_float(mask_fields(pairs_at(w.pairs, k, 0), 3u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return w.d * (fields_dot(w, x) - (sum.x + sum.y));
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, vec2(w.d), vec2(-w.d), k);
}
