// Eight elements of a cached key or value: one word of 16 bytes of f16 pairs, or two of f32. A
// kernel that includes this file declares the layer's range (binding 3) through it; with TEXELS 1 it
// reads through a buffer texture.
#ifndef TEXELS
#define TEXELS 0
#endif

#if TEXELS
layout(binding = 3) uniform highp usamplerBuffer cache_texels;

uvec4 cache_word(uint i)
{
    return texelFetch(cache_texels, int(i));
}
#else
layout(std430, binding = 3) restrict readonly buffer Cache { uvec4 cache[]; };

uvec4 cache_word(uint i)
{
    return cache[i];
}
#endif

// unpackHalf2x16 is mediump in GLSL ES: the assignments make the halves highp before arithmetic.
vec4 cache_halves(uvec2 word)
{
    highp vec2 low = unpackHalf2x16(word.x);
    highp vec2 high = unpackHalf2x16(word.y);
    return vec4(low, high);
}

// at counts words of 16 bytes.
void read_octet(uint at, bool is_f32, out vec4 low, out vec4 high)
{
    uvec4 word = cache_word(at);
    if (is_f32) {
        low = uintBitsToFloat(word);
        high = uintBitsToFloat(cache_word(at + 1u));
    } else {
        low = cache_halves(word.xy);
        high = cache_halves(word.zw);
    }
}
