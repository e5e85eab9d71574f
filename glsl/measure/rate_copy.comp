// y[i] = x[i]: how many bytes a second the device moves.
//
//   y, x  (n_word16)  words of 16 bytes, a multiple of LOADS * WG_SIZE of them
//
// A group owns LOADS * WG_SIZE words that follow each other; an invocation takes every WG_SIZE-th,
// so that neighbours read neighbouring words. No loop: a loop over storage blocks costs llvmpipe
// more than the copy. Reads and writes 16 bytes a word.
#include "lib/common.glsl"
#include "lib/group.glsl"

#ifndef LOADS
#error "LOADS: words of an invocation"
#endif

layout(std430, binding = 0) restrict writeonly buffer Copy { uvec4 y[]; };
layout(std430, binding = 1) restrict readonly buffer Source { uvec4 x[]; };

void main()
{
    uint first = gl_WorkGroupID.x * uint(LOADS * WG_SIZE) + gl_LocalInvocationID.x;
    uvec4 words[LOADS];
    for (int i = 0; i < LOADS; i++) {
        words[i] = x[first + uint(i * WG_SIZE)];
    }
    for (int i = 0; i < LOADS; i++) {
        y[first + uint(i * WG_SIZE)] = words[i];
    }
}
