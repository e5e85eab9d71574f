// Quants of 2 to 6 bits in planes (src/quant/quant.h): the four quants 4 k .. 4 k + 3 of a block come
// out as fields, each where it lies, that is, times 1, 16, 256, 4096: an and, a conversion and a
// multiply-add a weight, and a shift for four. The powers of 16 are taken out at the end, exactly.
// A type that includes this file defines
//
//   vec4 quant_fields(QuantBlock w, int k)    the fields of quants 4 k .. 4 k + 3, k constant
vec4 quant_fields(QuantBlock w, int k);

const uvec4 field_place = uvec4(1u, 16u, 256u, 4096u);
const vec4 field_weight = vec4(1.0, 1.0 / 16.0, 1.0 / 256.0, 1.0 / 4096.0);

// w, its bits `places` higher.
uint move_bits(uint w, int places)
{
    return places < 0 ? w >> uint(-places) : w << uint(places);
}

// The words of the planes with the first field of four quants at bit 0 (nibbles) or `place`.
uint nibbles_at(uvec4 plane, int k)
{
    return plane[k / 2] >> uint(16 * (k % 2));
}

uint pairs_at(uvec2 plane, int k, int place)
{
    return move_bits(plane[k / 4], place - 2 * (k % 2) - 16 * (k / 2 % 2));
}

uint bits_at(uint plane, int k, int place)
{
    return move_bits(plane, place - k % 4 - 16 * (k / 4));
}

// The bits of mask of each field, as numbers.
uvec4 mask_fields(uint w, uint mask)
{
    return uvec4(w) & (mask * field_place);
}

vec4 fields_to_float(uvec4 fields)
{
    return vec4(ivec4(fields)); // below 2^18; the signed conversion is the cheaper one
}

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
