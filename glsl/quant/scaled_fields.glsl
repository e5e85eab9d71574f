// Weights scale.x * quant + scale.y, in fields: quant/fields.glsl.
#include "quant/fields.glsl"

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return w.scale.x * fields_dot(w, x) + w.scale.y * (sum.x + sum.y);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return fields_quad(w, w.scale.xx, w.scale.yy, k);
}
