// Eight elements of a cached key or value. A kernel that includes this file declares the layer's
// range (binding 3) through it; with TEXELS 1 it reads through a buffer texture, and with
// CACHE_DECLARED it declares cache_word itself. Rows are of HEAD_DIM elements:
//   f16   pairs, a vec8 a word of 16 bytes
//   f32   two words a vec8
//   q8_0  bytes, two vec8s a word; scales elsewhere, an f16 for 32 elements, two in a uint, as many uints a
//         row as take it. An element is its byte times its scale.
//   q4_0  a uint a vec8, four to a word; scales as q8_0 has them. Nibble 2 i is element i, nibble
//         2 i + 1 element i + 4. An element is its nibble less 8, times its scale.
#include "attention/cache_type.glsl"
#include "lib/unpack.glsl"

#ifndef TEXELS
#define TEXELS 0
#endif
#ifndef CACHE_BEGIN
#define CACHE_BEGIN 0u // of the slot's: lib/slot.glsl
#endif

#if TEXELS
layout(binding = 3) uniform highp usamplerBuffer cache_texels;

uvec4 cache_word(uint i)
{
    return texelFetch(cache_texels, int(CACHE_BEGIN + i));
}
#elif !defined(CACHE_DECLARED)
layout(std430, binding = 3) restrict readonly buffer Cache { uvec4 cache[]; };

uvec4 cache_word(uint i)
{
    return cache[CACHE_BEGIN + i];
}
#endif

// Words of 16 bytes of a row, and uints of its scales.
#define ROW_WORDS(type)                                                                            \
    uint((type) == CACHE_F16    ? HEAD_DIM / 8                                                     \
         : (type) == CACHE_F32  ? HEAD_DIM / 4                                                     \
         : (type) == CACHE_Q8_0 ? (HEAD_DIM + 15) / 16                                             \
                                : (HEAD_DIM + 31) / 32)
#define ROW_SCALES uint((HEAD_DIM + 63) / 64)

// Returns the scale of a vec8; begin counts uints.
float cache_scale(uint begin, uint row, uint vec8)
{
    uint i = begin + row * ROW_SCALES + vec8 / 8u;
    highp vec2 scales = unpackHalf2x16(cache_word(i / 4u)[i & 3u]);
    return (vec8 & 4u) == 0u ? scales.x : scales.y;
}

// Fetches a vec8 as the cache has it, so that many loads can be issued before the first is waited
// for: f16 in first, f32 in both, q8_0 with its bytes in first.xy and their scale in first.z, q4_0
// with its nibbles in first.x. Vec8 `vec8` of row `row`; data counts words of 16 bytes. No struct:
// NVIDIA's compiler keeps an array of those in memory.
void fetch_vec8(int type, uint data, uint scales, uint row, uint vec8, out uvec4 first,
                out uvec4 second)
{
    second = uvec4(0u);
    if (type == CACHE_Q8_0) {
        uvec4 word = cache_word(data + row * ROW_WORDS(CACHE_Q8_0) + vec8 / 2u);
        first.xy = (vec8 & 1u) == 0u ? word.xy : word.zw;
        float scale = cache_scale(scales, row, vec8) * (1.0 / 16777216.0); // bytes_at_top
        first.zw = uvec2(floatBitsToUint(scale), 0u);
    } else if (type == CACHE_Q4_0) {
        uvec4 word = cache_word(data + row * ROW_WORDS(CACHE_Q4_0) + vec8 / 4u);
        float scale = cache_scale(scales, row, vec8);
        first = uvec4(word[vec8 & 3u], 0u, floatBitsToUint(scale), 0u);
    } else if (type == CACHE_F32) {
        uint at = data + row * ROW_WORDS(CACHE_F32) + 2u * vec8;
        first = cache_word(at);
        second = cache_word(at + 1u);
    } else {
        first = cache_word(data + row * ROW_WORDS(CACHE_F16) + vec8);
    }
}

void unpack_vec8(int type, uvec4 first, uvec4 second, out vec4 low, out vec4 high)
{
    if (type == CACHE_Q8_0) {
        float scale = uintBitsToFloat(first.z);
        low = scale * bytes_at_top(first.x);
        high = scale * bytes_at_top(first.y);
    } else if (type == CACHE_Q4_0) {
        float scale = uintBitsToFloat(first.z);
        low = scale * bytes_of(first.x & 0x0F0F0F0Fu) - 8.0 * scale;
        high = scale * bytes_of((first.x >> 4u) & 0x0F0F0F0Fu) - 8.0 * scale;
    } else if (type == CACHE_F32) {
        low = uintBitsToFloat(first);
        high = uintBitsToFloat(second);
    } else {
        low = halves_of(first.xy);
        high = halves_of(first.zw);
    }
}

void read_vec8(int type, uint data, uint scales, uint row, uint vec8, out vec4 low, out vec4 high)
{
    uvec4 first, second;
    fetch_vec8(type, data, scales, row, vec8, first, second);
    unpack_vec8(type, first, second, low, high);
}

// With the places of k and v that Params gives: data in words of 16 bytes, scales in uints.
#define read_key(row, vec8, low, high)                                                            \
    read_vec8(K_TYPE, params.k, params.k_scale, row, vec8, low, high)
#define read_value(row, vec8, low, high)                                                          \
    read_vec8(V_TYPE, params.v, params.v_scale, row, vec8, low, high)
