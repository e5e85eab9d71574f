#include "tests/ref/ref_quant.h"

#include <string.h>

// Returns value / 2^shift, rounded to nearest, ties to even; shift is 1..31.
static uint32_t shift_right_rounded(uint32_t value, uint32_t shift)
{
    uint32_t quotient = value >> shift;
    uint32_t rest = value & ((1u << shift) - 1);
    uint32_t half = 1u << (shift - 1);
    return quotient + (rest > half || (rest == half && (quotient & 1)));
}

uint16_t ref_float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) { // NaN: quiet, so that no payload becomes infinity
        return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
    }
    if (magnitude >= 0x47800000u) { // 2^16 and above
        return sign | 0x7C00;
    }
    if (magnitude >= 0x38800000u) { // 2^-14: normal; a carry may round into infinity, rightly
        return (uint16_t)(sign | shift_right_rounded(magnitude - ((127u - 15) << 23), 13));
    }
    if (magnitude <= 0x33000000u) { // 2^-25: a tie with zero, and zero is even
        return sign;
    }
    uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    return (uint16_t)(sign | shift_right_rounded(mantissa, 126 - (magnitude >> 23)));
}
