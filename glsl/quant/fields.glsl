// Weights d * quant + m whose quants lie in planes (planes.glsl). A type that includes this file
// defines
//
//   vec4 quant_fields(QuantBlock w, int k)    the fields of quants 4 k .. 4 k + 3
#include "quant/planes.glsl"

vec4 quant_fields(QuantBlock w, int k);
#define FIELDS(k) quant_fields(w, k)

// Sums of quant * x over the first 16 and the last 16 quants.
vec2 fields_dot_halves(QuantBlock w, vec4 x[8])
{
    SUM_HALVES(p, q, FIELDS)
    return vec2(dot(p, field_weight), dot(q, field_weight));
}

// Sum of quant * x.
float fields_dot(QuantBlock w, vec4 x[8])
{
    SUM_QUADS(p, FIELDS)
    p *= field_weight;
    return (p.x + p.y) + (p.z + p.w);
}

// d * quant + m of quants 4 k .. 4 k + 3; of the first 16 quants d.x and m.x, of the last 16 d.y
// and m.y.
vec4 fields_quad(QuantBlock w, vec2 d, vec2 m, int k)
{
    return quant_fields(w, k) * ((k < 4 ? d.x : d.y) * field_weight) + (k < 4 ? m.x : m.y);
}
