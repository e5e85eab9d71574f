// Weights that are points of a grid, eight or four at a time: aux begins with the grid, two points
// a word, the even one low (src/quant/iq/iq_grids.h). A type that includes this file has the scales
// of the first and of the last 16 weights as vec2 d in its QuantBlock, and defines
//
//   vec4 quant_values(QuantBlock w, int k)    weights 4 k .. 4 k + 3 without their scale
#include "quant/planes.glsl"

vec4 quant_values(QuantBlock w, int k);

// Point i in the low 16 bits.
uint grid_point(uint i)
{
    return (aux_at(i / 2u) >> ((i & 1u) * 16u)) & 0xFFFFu;
}

// Two points in a word.
uint grid_points(uint i, uint j)
{
    return grid_point(i) | grid_point(j) << 16u;
}

// Coordinates 4 (k % 2) .. of point k / 2 of four points of eight coordinates, 0 .. 2.
vec4 coordinates_of_8(uvec2 points, int k)
{
    uint word = points[k >> 2];
    return fields_to_float(mask_fields(word >> uint(16 * (k >> 1 & 1) + 2 * (k & 1)), 3u)) *
           field_weight;
}

// The coordinates of point k of eight points of four coordinates, 0 .. 7.
vec4 coordinates_of_4(uvec4 points, int k)
{
    return fields_to_float(mask_fields(points[k >> 1] >> uint(16 * (k & 1)), 7u)) * field_weight;
}

// Four signs of 7 bits from the low 28 bits of a word, and with each an eighth that makes the
// number of set bits even.
uint even_signs(uint word)
{
    uvec4 s = (uvec4(word) >> uvec4(0u, 7u, 14u, 21u)) & 0x7Fu;
    s |= (uvec4(bitCount(s)) & 1u) << 7u;
    return s.x | s.y << 8u | s.z << 16u | s.w << 24u;
}

// v, negative where bits 4 k .. 4 k + 3 of signs are set.
vec4 flip_signs(vec4 v, uint signs, int k)
{
    uvec4 flips = uvec4(signs >> uint(4 * k)) << uvec4(31u, 30u, 29u, 28u);
    return uintBitsToFloat(floatBitsToUint(v) ^ (flips & 0x80000000u));
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
#define VALUES(k) quant_values(w, k)
    SUM_HALVES(p, q, VALUES)
    p = w.d.x * p + w.d.y * q;
    return (p.x + p.y) + (p.z + p.w);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return (k < 4 ? w.d.x : w.d.y) * quant_values(w, k);
}
