// Dot products of quants of four or eight bits with x in the form that a GPU's compiler makes the
// fewest instructions of. DOT of the program's row:
//
//   DOT_HALVES   V3D. Fields of a word are f16 denormals, quant * 2^-24, two to a word: the multiplication
//                takes either half for nothing. Needs unpackHalf2x16 to keep denormals.
//   DOT_BYTES    Mali G. Conversions from any byte of a word.
//   DOT_PLACES   Mali T. Four quants as a vector, each where it lies, so times a power of 16 or 256.
//   DOT_BITS     Adreno. Quants as the last bits of a number that has a constant in front: an and-or, no
//                conversion.
//
// Words hold eight quants of four bits or four signed ones of eight in natural order, a and b are
// the elements of x for them; types whose quants lie in planes make such words of them
// (quant/plane_dot.glsl). A type that includes this file with DOT defines QUANT_SPLIT 1 and
//
//   struct QuantRow                                         where a row lies
//   QuantRow quant_row(uint tile, uint n_block, uint row)
//   QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)     block = 2 * pair + odd
//   void quant_part(QuantBlock w, int k, vec4 a, vec4 b, inout DotSum s)   elements 8 k .. 8 k + 7
//   float quant_end(QuantBlock w, DotSum s, vec2 sum)       the dot product / dot_scale; sum is that
//                                                           of quant_sums(x)
#define DOT_HALVES 1
#define DOT_BYTES 2
#define DOT_PLACES 3
#define DOT_BITS 4

#ifndef QUANT_BITS
#define QUANT_BITS 8 // of the quants in bytes, at most
#endif

#if DOT == DOT_PLACES
struct DotSum {
    vec4 p;
    float r; // of the first half
};

DotSum dot_zero()
{
    return DotSum(vec4(0.0), 0.0);
}
#else
struct DotSum {
    float p, r; // r: of what stands four bits too high, or of the first half
};

DotSum dot_zero()
{
    return DotSum(0.0, 0.0);
}
#endif

// The factor of the dot products at the end.
#if DOT == DOT_HALVES
const float dot_scale = 16777216.0;
#else
const float dot_scale = 1.0;
#endif

#if DOT == DOT_HALVES

void dot_nibbles(uint w, vec4 a, vec4 b, inout DotSum s)
{
    highp vec2 f = unpackHalf2x16(w & 0x000F000Fu);
    highp vec2 g = unpackHalf2x16(w & 0x00F000F0u);
    s.p += f.x * a.x;
    s.r += g.x * a.y;
    s.p += f.y * b.x;
    s.r += g.y * b.y;
    w >>= 8u;
    f = unpackHalf2x16(w & 0x000F000Fu);
    g = unpackHalf2x16(w & 0x00F000F0u);
    s.p += f.x * a.z;
    s.r += g.x * a.w;
    s.p += f.y * b.z;
    s.r += g.y * b.w;
}

void dot_unsigned(uint w, vec4 a, inout DotSum s)
{
    highp vec2 h = unpackHalf2x16(w & 0x00FF00FFu);
    s.p += h.x * a.x;
    s.p += h.y * a.z;
    h = unpackHalf2x16((w >> 8u) & 0x00FF00FFu);
    s.p += h.x * a.y;
    s.p += h.y * a.w;
}

#elif DOT == DOT_BYTES

void dot_nibbles(uint w, vec4 a, vec4 b, inout DotSum s)
{
    uint low = w & 0x0F0F0F0Fu, high = w & 0xF0F0F0F0u;
    s.p += float(low & 0xFFu) * a.x;
    s.p += float((low >> 8u) & 0xFFu) * a.z;
    s.p += float((low >> 16u) & 0xFFu) * b.x;
    s.p += float(low >> 24u) * b.z;
    s.r += float(high & 0xFFu) * a.y;
    s.r += float((high >> 8u) & 0xFFu) * a.w;
    s.r += float((high >> 16u) & 0xFFu) * b.y;
    s.r += float(high >> 24u) * b.w;
}

void dot_unsigned(uint w, vec4 a, inout DotSum s)
{
    s.p += float(w & 0xFFu) * a.x;
    s.p += float((w >> 8u) & 0xFFu) * a.y;
    s.p += float((w >> 16u) & 0xFFu) * a.z;
    s.p += float(w >> 24u) * a.w;
}

void dot_bytes(uint w, vec4 a, inout DotSum s)
{
    int bytes = int(w);
    s.p += float(bitfieldExtract(bytes, 0, 8)) * a.x;
    s.p += float(bitfieldExtract(bytes, 8, 8)) * a.y;
    s.p += float(bitfieldExtract(bytes, 16, 8)) * a.z;
    s.p += float(bytes >> 24) * a.w;
}

// Adds 16 (nibble - 8) x: an exclusive or makes signed nibbles of unsigned ones, which are the high
// halves of bytes then, so that no sum of x is needed.
void dot_signed_nibbles(uint w, vec4 a, vec4 b, inout DotSum s)
{
    w ^= 0x88888888u;
    dot_bytes((w << 4u) & 0xF0F0F0F0u, vec4(a.xz, b.xz), s);
    dot_bytes(w & 0xF0F0F0F0u, vec4(a.yw, b.yw), s);
}

#elif DOT == DOT_PLACES

const vec4 nibble_weight = vec4(1.0, 1.0 / 16.0, 1.0 / 256.0, 1.0 / 4096.0);
const vec4 byte_place_weight = vec4(1.0, 1.0 / 256.0, 1.0 / 65536.0, 1.0 / 16777216.0);

void dot_nibbles(uint w, vec4 a, vec4 b, inout DotSum s)
{
    const uvec4 mask = uvec4(0xFu, 0xF0u, 0xF00u, 0xF000u);
    s.p += vec4(ivec4(uvec4(w) & mask)) * a;
    s.p += vec4(ivec4(uvec4(w >> 16u) & mask)) * b;
}

void dot_unsigned(uint w, vec4 a, inout DotSum s)
{
    s.p += vec4(uvec4(w) & uvec4(0xFFu, 0xFF00u, 0xFF0000u, 0xFF000000u)) * a;
}

#elif DOT == DOT_BITS

// 16 + a nibble at bit 19, 2^QUANT_BITS + the low bits of a byte below bit 23. More than one
// nibble of a word could be taken where it lies, with larger constants: 12 % fewer instructions, and
// sums that are off by more than roundings of f32.
#define DOT_NIBBLE(w) uintBitsToFloat(((w) & 0x00780000u) | 0x41800000u)
#define BYTE_MASK ((0xFFu >> uint(8 - QUANT_BITS)) << uint(23 - QUANT_BITS))
#define DOT_BYTE(w, at)                                                                            \
    uintBitsToFloat((move_bits(w, 23 - QUANT_BITS - (at)) & BYTE_MASK) |                           \
                    uint(127 + QUANT_BITS) << 23u)

void dot_nibbles(uint w, vec4 a, vec4 b, inout DotSum s)
{
    s.p += DOT_NIBBLE(w << 19u) * a.x;
    s.p += DOT_NIBBLE(w << 15u) * a.y;
    s.p += DOT_NIBBLE(w << 11u) * a.z;
    s.p += DOT_NIBBLE(w << 7u) * a.w;
    s.p += DOT_NIBBLE(w << 3u) * b.x;
    s.p += DOT_NIBBLE(w >> 1u) * b.y;
    s.p += DOT_NIBBLE(w >> 5u) * b.z;
    s.p += DOT_NIBBLE(w >> 9u) * b.w;
}

void dot_unsigned(uint w, vec4 a, inout DotSum s)
{
    s.p += DOT_BYTE(w, 0) * a.x;
    s.p += DOT_BYTE(w, 8) * a.y;
    s.p += DOT_BYTE(w, 16) * a.z;
    s.p += DOT_BYTE(w, 24) * a.w;
}

#endif

#if DOT != DOT_BYTES
void dot_bytes(uint w, vec4 a, inout DotSum s)
{
    dot_unsigned(w ^ 0x80808080u, a, s);
}
#endif

// Sums of (quant - zero) * x over a block, of quant * x over a block of signed or unsigned bytes,
// divided by dot_scale.
float dot_nibbles_end(DotSum s, float zero, vec2 sum)
{
#if DOT == DOT_PLACES
    return dot(s.p, nibble_weight) - zero * (sum.x + sum.y);
#elif DOT == DOT_BITS
    return s.p - (16.0 + zero) * (sum.x + sum.y);
#else
    return (s.p - zero / dot_scale * (sum.x + sum.y)) + 0.0625 * s.r;
#endif
}

float dot_bytes_end(DotSum s, vec2 sum)
{
#if DOT == DOT_BYTES
    return s.p;
#elif DOT == DOT_PLACES
    return dot(s.p, byte_place_weight) - 128.0 * (sum.x + sum.y);
#elif DOT == DOT_BITS
    return s.p - 384.0 * (sum.x + sum.y);
#else
    return s.p - 128.0 / dot_scale * (sum.x + sum.y);
#endif
}

float dot_unsigned_end(DotSum s, vec2 sum)
{
#if DOT == DOT_PLACES
    return dot(s.p, byte_place_weight);
#elif DOT == DOT_BITS
    return s.p - 256.0 * (sum.x + sum.y);
#else
    return s.p;
#endif
}
