// Nibbles as pairs of halves, by the bits of a half: 0x6400 + n is 1024 + n, 0x5400 + 16 n is 64 +
// n.
#include "lib/half_pair.glsl"

highp uint scaled_pair(highp uint bits, mediump float zero, mediump vec2 d)
{
    mediump vec2 pair = half_pair(bits);
    pair -= zero;
    pair *= d;
    return packHalf2x16(pair);
}

// d * (n - 8) of nibbles 0 and 4.
highp uint low_pair(highp uint word, mediump vec2 d)
{
    return scaled_pair((word & 0x000F000Fu) | 0x64006400u, 1032.0, d);
}

// Returns nibbles 1 and 5.
highp uint high_pair(highp uint word, mediump vec2 d)
{
    return scaled_pair((word & 0x00F000F0u) | 0x54005400u, 72.0, d);
}
