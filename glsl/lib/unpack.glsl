// Elements of words, the first one low.

// unpackHalf2x16 is mediump in GLSL ES: the assignments make the halves highp before arithmetic.
vec4 halves_of(uvec2 w)
{
    highp vec2 low = unpackHalf2x16(w.x);
    highp vec2 high = unpackHalf2x16(w.y);
    return vec4(low, high);
}

// Returns four bytes, each times 2^24: the sign comes with the top byte, no arithmetic shift.
vec4 bytes_at_top(uint w)
{
    return vec4(ivec4(uvec4(w << 24u, (w << 16u) & 0xFF000000u, (w << 8u) & 0xFF000000u,
                            w & 0xFF000000u)));
}

vec4 bytes_of(uint w)
{
    return vec4(w & 0xFFu, (w >> 8u) & 0xFFu, (w >> 16u) & 0xFFu, w >> 24u);
}
