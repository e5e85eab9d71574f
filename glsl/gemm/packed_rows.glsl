// Rows of activations in f16, each where it lay in f32 and with a scale of its own, so that neither
// large nor small values leave the range of f16. Words of 16 bytes of a row of n_block blocks of 32
// elements:
//
//   word w             elements 8 w .. 8 w + 7, as pairs of neighbours, the first low
//   word 4 n_block     x: f32, the power of two by which the halves are multiplied; the largest of
//                      them is in [2^14, 2^15)
uint packed_exponent(float largest)
{
    return clamp(floatBitsToUint(largest) >> 23u, 16u, 254u);
}

// Returns the factor that brings the largest value into range. Factor and scale are normal numbers.
float packed_factor(uint exponent)
{
    return uintBitsToFloat((268u - exponent) << 23u);
}

uint packed_scale(uint exponent)
{
    return (exponent - 14u) << 23u;
}
