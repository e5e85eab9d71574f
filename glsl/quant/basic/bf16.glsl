// BF16: 4 quads a row and block; word i of quad q holds elements 8 q + 2 i (low half) and 8 q + 2 i
// + 1. No scales.
#include "quant/words.glsl"

// An element is the upper half of an f32.
vec4 quant_words(uvec2 w)
{
    return uintBitsToFloat(uvec4(w.x << 16u, w.x & 0xFFFF0000u, w.y << 16u, w.y & 0xFFFF0000u));
}
