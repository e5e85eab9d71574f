// Probes mediump: whether it is f16, whether that keeps denormals, and how fast it is.
//
//   y  (4 + n)  f32, written by each invocation at 4 + its place; the first writes four answers
//               in front: 1 and 32 times 2^-12 added to it, which is 1 in f16; the least denormal
//               of f16 times 2^14, which is 0 where denormals are flushed; the dot product of the
//               blocks; and the same denormal in highp times 2^24, 1 where unpackHalf2x16 keeps it
//   x           uints: number of rounds; f16 pairs: ones, 2^-12, the least denormal, 2^14, factor,
//               addend, 0; then two blocks of 32 pairs
//
// With HALF 0 the same in highp, for its time. 8 chains of pairs fill the pipelines. What could be
// folded comes out of x, so that no compiler sees where it ends.
#include "lib/common.glsl"

#ifndef HALF
#error "HALF: 1 for mediump, 0 for highp"
#endif

#if HALF
#define REAL mediump
#else
#define REAL highp
#endif

layout(local_size_x = 128) in;

layout(std430, binding = 0) restrict writeonly buffer Y { float y[]; };
layout(std430, binding = 1) restrict readonly buffer X { uint x[]; };

REAL vec2 pair_at(highp uint i)
{
    REAL vec2 pair = unpackHalf2x16(x[i]);
    return pair;
}

highp float block_dot()
{
    REAL vec2 sum = vec2(0.0);
    for (uint i = 0u; i < 32u; i++) {
        sum += pair_at(8u + i) * pair_at(40u + i);
    }
    return sum.x + sum.y;
}

void write_answers()
{
    REAL vec2 one = pair_at(1u), little = pair_at(2u);
    REAL vec2 sum = one;
    for (uint i = 0u; i < 32u; i++) {
        sum += one * little;
    }
    REAL vec2 denormal = pair_at(3u) * pair_at(4u);
    y[0] = sum.x;
    y[1] = denormal.x;
    y[2] = block_dot();
    highp vec2 highp_denormal = unpackHalf2x16(x[3]);
    y[3] = highp_denormal.x * 16777216.0;
}

void main()
{
    REAL vec2 factor = pair_at(5u), addend = pair_at(6u);
    REAL vec2 a = vec2(float(gl_LocalInvocationID.x & 7u));
    REAL vec2 b = a + addend, c = b + addend, d = c + addend;
    REAL vec2 e = d + addend, f = e + addend, g = f + addend, h = g + addend;
    uint n_round = x[0];
    for (uint i = 0u; i < n_round; i++) {
#define STEP                                                                                       \
    a = a * factor + addend;                                                                       \
    b = b * factor + addend;                                                                       \
    c = c * factor + addend;                                                                       \
    d = d * factor + addend;                                                                       \
    e = e * factor + addend;                                                                       \
    f = f * factor + addend;                                                                       \
    g = g * factor + addend;                                                                       \
    h = h * factor + addend;
        STEP STEP STEP STEP STEP STEP STEP STEP
    }
    REAL vec2 sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    y[4u + gl_GlobalInvocationID.x] = sum.x + sum.y;
    if (gl_GlobalInvocationID.x == 0u) {
        write_answers();
    }
}
