// Stores rows as gemm/half_rows.glsl has them, into binding 0.
#include "gemm/half_rows.glsl"

layout(std430, binding = 0) restrict writeonly buffer HalfRows { uvec4 half_rows[]; };

float largest_of_word(vec4 a, vec4 b)
{
    vec4 largest = max(abs(a), abs(b));
    return max(max(largest.x, largest.y), max(largest.z, largest.w));
}

void store_half_scale(uint place, uint component, uint bits)
{
    if (component == 0u) {
        half_rows[place].x = bits;
    } else if (component == 1u) {
        half_rows[place].y = bits;
    } else if (component == 2u) {
        half_rows[place].z = bits;
    } else {
        half_rows[place].w = bits;
    }
}

// Stores elements 8 word ... of a token, a and b, in a tile's row whose largest magnitude is
// `largest`, and with the row's first word its scale. Clamps the exponent, so that factor and scale
// are normal numbers.
void store_half_word(uint token, uint word, uint n_tile, vec4 a, vec4 b, float largest)
{
    uint exponent = clamp(floatBitsToUint(largest) >> 23u, 8u, 250u);
    float factor = uintBitsToFloat((257u - exponent) << 23u);
    uint tile = half_tile(token, word / 8u, n_tile);
    a *= factor;
    b *= factor;
    half_rows[tile + half_place(token, word)] =
        uvec4(packHalf2x16(vec2(a.x, b.x)), packHalf2x16(vec2(a.y, b.y)),
              packHalf2x16(vec2(a.z, b.z)), packHalf2x16(vec2(a.w, b.w)));
    if (word % 8u == 0u) {
        store_half_scale(tile + HALF_SCALES + token % HALF_TOKENS / 4u, token % 4u,
                         (exponent - 3u) << 23u);
    }
}
