// A quad before the quants of a super-block that holds pairs of six-bit numbers for its 8
// blocks:
//
//   word 0      f16 numbers of the super-block
//   words 1, 2  byte b % 4 of word 1 + b / 4: the low four bits of both numbers of block b
//   word 3      bits 4 b .. 4 b + 3: the high two bits of both
//
// The first number lies lower each time.
vec2 k_scales(uvec4 header, uint block)
{
    uint b = block & 7u;
    uint low = (b < 4u ? header.y : header.z) >> ((b & 3u) * 8u);
    uint high = header.w >> (b * 4u);
    uvec2 pair = (uvec2(low, low >> 4u) & 0xFu) | ((uvec2(high, high >> 2u) & 3u) << 4u);
    return vec2(pair);
}
