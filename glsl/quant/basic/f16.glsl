// F16: 4 quads a row and block; word i of quad q holds elements 8 q + 2 i (low half) and 8 q + 2 i
// + 1. No scales.
#include "lib/unpack.glsl"
#include "quant/words.glsl"

vec4 quant_words(uvec2 w)
{
    return halves_of(w);
}
