// Weights d * quant + m whose quants lie in planes (planes.glsl). A type that includes this file defines
//
//   vec4 quant_fields(QuantBlock w, int k)    the fields of quants 4 k .. 4 k + 3, k constant
#include "lib/quant/planes.glsl"

vec4 quant_fields(QuantBlock w, int k);

// Sums of quant * x over the first 16 and the last 16 quants.
vec2 fields_dot_halves(QuantBlock w, vec4 x[8])
{
    vec4 p = quant_fields(w, 0) * x[0];
    vec4 q = quant_fields(w, 4) * x[4];
    p += quant_fields(w, 1) * x[1];
    q += quant_fields(w, 5) * x[5];
    p += quant_fields(w, 2) * x[2];
    q += quant_fields(w, 6) * x[6];
    p += quant_fields(w, 3) * x[3];
    q += quant_fields(w, 7) * x[7];
    return vec2(dot(p, field_weight), dot(q, field_weight));
}

// Sum of quant * x.
float fields_dot(QuantBlock w, vec4 x[8])
{
    vec4 p = quant_fields(w, 0) * x[0];
    p += quant_fields(w, 1) * x[1];
    p += quant_fields(w, 2) * x[2];
    p += quant_fields(w, 3) * x[3];
    p += quant_fields(w, 4) * x[4];
    p += quant_fields(w, 5) * x[5];
    p += quant_fields(w, 6) * x[6];
    p += quant_fields(w, 7) * x[7];
    p *= field_weight;
    return (p.x + p.y) + (p.z + p.w);
}

// d * quant + m, of the first 16 quants d.x and m.x, of the last 16 d.y and m.y.
void fields_unpack(QuantBlock w, vec2 d, vec2 m, out vec4 v[8])
{
    vec4 first = d.x * field_weight, last = d.y * field_weight;
    v[0] = quant_fields(w, 0) * first + m.x;
    v[1] = quant_fields(w, 1) * first + m.x;
    v[2] = quant_fields(w, 2) * first + m.x;
    v[3] = quant_fields(w, 3) * first + m.x;
    v[4] = quant_fields(w, 4) * last + m.y;
    v[5] = quant_fields(w, 5) * last + m.y;
    v[6] = quant_fields(w, 6) * last + m.y;
    v[7] = quant_fields(w, 7) * last + m.y;
}
