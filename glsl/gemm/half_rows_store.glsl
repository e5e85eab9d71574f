// Stores rows as gemm/half_rows.glsl has them, into binding 0.
#include "gemm/half_rows.glsl"

layout(std430, binding = 0) restrict writeonly buffer HalfRows { uvec4 half_rows[]; };

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
// `largest`, and with the row's first word its scale.
void store_half_word(uint token, uint word, uint n_tile, vec4 a, vec4 b, float largest)
{
    uint exponent = half_exponent(largest), tile = half_tile(token, word / 8u, n_tile);
    half_rows[tile + half_place(token, word)] = half_word(a, b, exponent);
    if (word % 8u == 0u) {
        store_half_scale(tile + HALF_SCALES + token % HALF_TOKENS / 4u, token % 4u,
                         half_scale(exponent));
    }
}
