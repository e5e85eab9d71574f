// quant_part of types whose quants of at most eight bits lie in planes (quant/planes.glsl): eight
// become two words of bytes, those of even elements and those of odd ones. A type that includes
// this file with DOT defines
//
//   QUANT_BITS                                what quants have at most
//   uvec2 quant_bytes(QuantBlock w, int k)    quants 8 k, 8 k + 2, .. and 8 k + 1, 8 k + 3, ..
#define QUANT_SPLIT 1
#include "quant/dot.glsl"

uvec2 quant_bytes(QuantBlock w, int k);

uvec2 nibble_bytes(uvec4 plane, int k)
{
    return uvec2(plane[k], plane[k] >> 4u) & 0x0F0F0F0Fu;
}

uvec2 pair_bytes(uvec2 plane, int k)
{
    uint w = plane[k >> 1] >> uint(16 * (k & 1));
    w = (w & 0x3333u) | ((w & 0xCCCCu) << 14u);
    return uvec2(w, w >> 4u) & 0x03030303u;
}

uvec2 bit_bytes(uint plane, int k)
{
    uint w = plane >> uint(2 * (k & 1) + 16 * (k >> 1));
    w = (w & 0x1111u) | ((w & 0x2222u) << 15u);
    return uvec2(w, w >> 4u) & 0x01010101u;
}

#if DOT == DOT_PLACES
#define plane_sum(p) dot(p, field_weight)
#else
#define plane_sum(p) (p)
#endif

void quant_part(QuantBlock w, int k, vec4 a, vec4 b, inout DotSum s)
{
    if (k == 2) {
        s = DotSum(dot_zero().p, plane_sum(s.p));
    }
#if DOT == DOT_PLACES
    s.p += quant_fields(w, 2 * k) * a;
    s.p += quant_fields(w, 2 * k + 1) * b;
#else
    uvec2 bytes = quant_bytes(w, k);
    dot_unsigned(bytes.x, vec4(a.xz, b.xz), s);
    dot_unsigned(bytes.y, vec4(a.yw, b.yw), s);
#endif
}

// Sums of (quant - zero) * x over the first and the last half of a block, divided by dot_scale.
vec2 dot_halves_end(DotSum s, float zero, vec2 sum)
{
#if DOT == DOT_BITS
    zero += float(1 << QUANT_BITS);
#endif
    return vec2(s.r, plane_sum(s.p)) - zero / dot_scale * sum;
}
