// y[j] = the exclusive or of the words that invocation j reads: how many bytes a second the device
// reads, as decoding does.
//
//   y  (n_word16 / LOADS)  words of 16 bytes, written
//   x  (n_word16)          words of 16 bytes, a multiple of LOADS * WG_SIZE of them
//
// Groups and invocations own what they do in rate_copy.comp. TEXELS 1 reads through a buffer
// texture, the faster way on llvmpipe. Reads 16 bytes a word and writes 16 / LOADS.
#include "lib/common.glsl"
#include "lib/group.glsl"

#ifndef LOADS
#error "LOADS: words of an invocation"
#endif
#ifndef TEXELS
#define TEXELS 0
#endif

layout(std430, binding = 0) restrict writeonly buffer Parity { uvec4 y[]; };

#if TEXELS
layout(binding = 1) uniform highp usamplerBuffer x_texels;

uvec4 word_at(uint i)
{
    return texelFetch(x_texels, int(i));
}
#else
layout(std430, binding = 1) restrict readonly buffer Source { uvec4 x[]; };

uvec4 word_at(uint i)
{
    return x[i];
}
#endif

void main()
{
    uint first = gl_WorkGroupID.x * uint(LOADS * WG_SIZE) + gl_LocalInvocationID.x;
    uvec4 parity = uvec4(0u);
    for (int i = 0; i < LOADS; i++) {
        parity ^= word_at(first + uint(i * WG_SIZE));
    }
    y[gl_GlobalInvocationID.x] = parity;
}
