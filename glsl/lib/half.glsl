// f32 to f16 pairs, rounded to nearest even. The language leaves the rounding of packHalf2x16 open,
// and drivers that cut the low bits off double the error of the cache: here the low 13 bits are
// rounded away first: nothing is left to cut. Halves below 2^-14 keep the driver's rounding.
uint round_to_half(float x)
{
    uint bits = floatBitsToUint(x);
    return (bits + 0xFFFu + ((bits >> 13u) & 1u)) & 0xFFFFE000u;
}

uint pack_half(vec2 v)
{
    return packHalf2x16(vec2(uintBitsToFloat(round_to_half(v.x)), uintBitsToFloat(round_to_half(v.y))));
}
