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

// Returns pairs (0, 4) (1, 5) (2, 6) (3, 7) of d * (n - 8).
uvec4 nibble_pairs(highp uint word, mediump vec2 d)
{
    highp uint high = word >> 8u;
    return uvec4(scaled_pair((word & 0x000F000Fu) | 0x64006400u, 1032.0, d),
                 scaled_pair((word & 0x00F000F0u) | 0x54005400u, 72.0, d),
                 scaled_pair((high & 0x000F000Fu) | 0x64006400u, 1032.0, d),
                 scaled_pair((high & 0x00F000F0u) | 0x54005400u, 72.0, d));
}

highp uint shifted_pair(highp uint bits, mediump float zero, mediump vec2 d, mediump vec2 middle)
{
    mediump vec2 pair = half_pair(bits);
    pair -= zero;
    pair = pair * d + middle;
    return packHalf2x16(pair);
}

// Returns the pairs of d * (n - 8) + middle, which is more precise than d * n + m.
uvec4 shifted_pairs(highp uint word, mediump vec2 d, mediump vec2 middle)
{
    highp uint high = word >> 8u;
    return uvec4(shifted_pair((word & 0x000F000Fu) | 0x64006400u, 1032.0, d, middle),
                 shifted_pair((word & 0x00F000F0u) | 0x54005400u, 72.0, d, middle),
                 shifted_pair((high & 0x000F000Fu) | 0x64006400u, 1032.0, d, middle),
                 shifted_pair((high & 0x00F000F0u) | 0x54005400u, 72.0, d, middle));
}
