// A word as a pair of halves. A bare unpackHalf2x16 in an expression would be computed in 32 bits.
mediump vec2 half_pair(highp uint bits)
{
    mediump vec2 pair = unpackHalf2x16(bits);
    return pair;
}
