// F16: 4 quads a row and block; word i of quad q holds elements 8 q + 2 i (low half) and 8 q + 2 i + 1.
// No scales.
#include "quant/words.glsl"

// unpackHalf2x16 is mediump in GLSL ES: the assignments make the halves highp before arithmetic.
vec4 quant_words(uvec2 w)
{
    highp vec2 low = unpackHalf2x16(w.x);
    highp vec2 high = unpackHalf2x16(w.y);
    return vec4(low, high);
}
