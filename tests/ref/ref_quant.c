#include "tests/ref/ref_quant.h"

#include <math.h>
#include <string.h>

double ref_half(unsigned bits)
{
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    int e = (bits >> 10) & 31;
    double m = (bits & 1023) / 1024.0;
    if (e == 31) {
        return m > 0 ? NAN : sign * INFINITY;
    }
    return e == 0 ? sign * ldexp(m, -14) : sign * ldexp(1.0 + m, e - 15);
}

static double half_at(const uint8_t *bytes)
{
    return ref_half(bytes[0] + 256u * bytes[1]);
}

// Quant i of 32 in 16 bytes: the first half in the low nibbles, the second in the high ones.
static double nibble_at(const uint8_t *bytes, size_t i)
{
    return i < 16 ? bytes[i] % 16 : bytes[i - 16] / 16; // NOLINT(bugprone-integer-division)
}

double ref_element_f32(const uint8_t *row, size_t i)
{
    float value;
    memcpy(&value, row + 4 * i, 4);
    return value;
}

double ref_element_f16(const uint8_t *row, size_t i)
{
    return half_at(row + 2 * i);
}

double ref_element_q4_0(const uint8_t *row, size_t i)
{
    const uint8_t *block = row + i / 32 * 18;
    return half_at(block) * (nibble_at(block + 2, i % 32) - 8.0);
}

double ref_element_q4_1(const uint8_t *row, size_t i)
{
    const uint8_t *block = row + i / 32 * 20;
    return half_at(block) * nibble_at(block + 4, i % 32) + half_at(block + 2);
}

double ref_element_q8_0(const uint8_t *row, size_t i)
{
    const uint8_t *block = row + i / 32 * 34;
    int byte = block[2 + i % 32];
    return half_at(block) * (byte < 128 ? byte : byte - 256);
}
