// Quants of 2 to 6 bits in planes (src/quant/quant.h): the four quants 4 k .. 4 k + 3 of a block
// come out as fields, each where it lies, that is, times 1, 16, 256, 4096: an and, a conversion and
// a multiply-add a weight, a shift for four. The powers of 16 are taken out at the end, exactly.
const uvec4 field_place = uvec4(1u, 16u, 256u, 4096u);
const vec4 field_weight = vec4(1.0, 1.0 / 16.0, 1.0 / 256.0, 1.0 / 4096.0);

// The words of the planes with the first field of four quants at bit 0 (nibbles) or `place`.
uint nibbles_at(uvec4 plane, int k)
{
    return plane[k >> 1] >> uint(16 * (k & 1));
}

uint pairs_at(uvec2 plane, int k, int place)
{
    return move_bits(plane[k >> 2], place - 2 * (k & 1) - 16 * (k >> 1 & 1));
}

uint bits_at(uint plane, int k, int place)
{
    return move_bits(plane, place - (k & 3) - 16 * (k >> 2));
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
