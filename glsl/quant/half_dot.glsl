// Dot products of quants with x in packed f16: a quant is a denormal half, quant * 2^-24, as it
// stands in its word, so that an and makes a pair and a multiply-add takes it: about one
// instruction a weight. x comes as gemv/gemv_half.glsl leaves it, times 2^14, and with nibbles that
// stand four bits too high 2^10. Needs mediump to be f16 that keeps denormals.
//
// A type that includes this file with HALF defines
//
//   QUANT_PAIRS   PAIRS_OF_NIBBLES or PAIRS_OF_BYTES: the order of x
//   QUANT_SCALES  1, or 2 where the first 16 weights have scales of their own
//   mediump vec2 quant_half(QuantBlock w, int k, uvec4 x, mediump vec2 h)   h + elements 8 k .. 8 k + 7
//   float quant_half_end(QuantBlock w, vec2 p, vec2 sum)   the dot product; p are the sums of quant * x over
//                                                          the halves, with QUANT_SCALES 1 both in p.x
#define PAIRS_OF_NIBBLES 1
#define PAIRS_OF_BYTES 2

#include "lib/half_pair.glsl"

mediump vec2 half_nibbles(highp uint w, highp uvec4 x, mediump vec2 h)
{
    h += half_pair(w & 0x000F000Fu) * half_pair(x.x);
    h += half_pair(w & 0x00F000F0u) * half_pair(x.y);
    w >>= 8u;
    h += half_pair(w & 0x000F000Fu) * half_pair(x.z);
    h += half_pair(w & 0x00F000F0u) * half_pair(x.w);
    return h;
}

// Bytes from 0 to 255.
mediump vec2 half_bytes(highp uint w, highp uvec2 x, mediump vec2 h)
{
    h += half_pair(w & 0x00FF00FFu) * half_pair(x.x);
    h += half_pair((w >> 8u) & 0x00FF00FFu) * half_pair(x.y);
    return h;
}
