#include "quant/quant.h"

#include <string.h>

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

float gi_bf16_to_float(uint16_t value)
{
    return float_of_bits((uint32_t)value << 16);
}

float gi_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1F;
    uint32_t mantissa = half & 0x3FF;
    if (exponent == 0) {
        float magnitude = (float)mantissa * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    if (exponent == 0x1F) {
        return float_of_bits(sign | 0x7F800000u | mantissa << 13);
    }
    return float_of_bits(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
}
