// Quantises rows of floats to types whose blocks have one scale, and at most one minimum. Rounds to
// the nearest as ggml's reference quantisers do, whose bytes these are.
//   ggml, src/ggml-quants.c, quantize_row_*_ref
#include "base/bytes.h"
#include "quant/quant.h"

#include <assert.h>
#include <math.h>

enum { BLOCK = 32 };

static uint8_t *store_u16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    return to + 2;
}

uint16_t gi_float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) {
        return sign | 0x7E00;
    }
    if (magnitude >= 0x477FF000u) { // rounds to 65536 or more
        return sign | 0x7C00;
    }
    if (magnitude < 0x38800000u) { // below the smallest normal number, 2^-14
        return sign | (uint16_t)lrintf(fabsf(value) * 0x1p24f);
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return sign | (uint16_t)((magnitude - 0x38000000u + 0xFFF + odd) >> 13);
}

static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
        return (uint16_t)(bits >> 16 | 64);
    }
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

// Returns the value of the largest magnitude.
static float find_extreme(const float *src)
{
    float extreme = 0.0f;
    for (int i = 0; i < BLOCK; i++) {
        extreme = fabsf(src[i]) > fabsf(extreme) ? src[i] : extreme;
    }
    return extreme;
}

static float inverse(float d)
{
    return d != 0.0f ? 1.0f / d : 0.0f;
}

static int limit(float value, int most)
{
    return !(value > 0.0f) ? 0 : value < (float)most ? (int)value : most;
}

static void write_q8_0(const float *src, uint8_t *to)
{
    const float d = fabsf(find_extreme(src)) / 127.0f, id = inverse(d);
    to = store_u16(to, gi_float_to_half(d));
    for (int i = 0; i < BLOCK; i++) {
        const float q = roundf(src[i] * id); // infinite where d is too small to divide by
        to[i] = (uint8_t)(int8_t)(q < -127.0f ? -127.0f : q < 127.0f ? q : 127.0f);
    }
}

// Writes quants of 4 bits, or of 5 whose upper bits lie before the others.
static void write_quants(const int q[BLOCK], bool is_five, uint8_t *to)
{
    uint32_t upper = 0;
    for (int i = 0; i < BLOCK; i++) {
        upper |= (uint32_t)(q[i] >> 4 & 1) << i;
    }
    if (is_five) {
        gi_store_u32(to, upper);
        to += 4;
    }
    for (int i = 0; i < BLOCK / 2; i++) {
        to[i] = (uint8_t)((q[i] & 15) | (q[i + BLOCK / 2] & 15) << 4);
    }
}

// Writes a block whose quants are signed, in steps of d around zero.
static void write_signed(const float *src, bool is_five, uint8_t *to)
{
    const int middle = is_five ? 16 : 8;
    const float d = find_extreme(src) / (float)-middle, id = inverse(d);
    int q[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        q[i] = limit(src[i] * id + (float)middle + 0.5f, 2 * middle - 1);
    }
    write_quants(q, is_five, store_u16(to, gi_float_to_half(d)));
}

// Writes a block whose quants are steps of d from the minimum.
static void write_from_minimum(const float *src, bool is_five, uint8_t *to)
{
    const int most = is_five ? 31 : 15;
    float low = src[0], high = src[0];
    int q[BLOCK];
    for (int i = 1; i < BLOCK; i++) {
        low = src[i] < low ? src[i] : low;
        high = src[i] > high ? src[i] : high;
    }
    const float d = (high - low) / (float)most, id = inverse(d);
    for (int i = 0; i < BLOCK; i++) {
        q[i] = limit((src[i] - low) * id + 0.5f, most);
    }
    to = store_u16(to, gi_float_to_half(d));
    write_quants(q, is_five, store_u16(to, gi_float_to_half(low)));
}

static bool is_finite(const float *src)
{
    float sum = 0.0f; // of zeros, or of what an infinite factor makes of them
    for (int i = 0; i < BLOCK; i++) {
        sum += src[i] * 0.0f;
    }
    return sum == 0.0f;
}

// Marks a block with a value that is not finite by its scale, which readers check.
static void write_block(enum gi_ggml_type type, const float *src, uint8_t *to)
{
    if (!is_finite(src)) {
        memset(to, 0, gi_ggml_type_find(type)->block_bytes);
        store_u16(to, gi_float_to_half(NAN));
        return;
    }
    switch ((uint32_t)type) {
    case GI_GGML_TYPE_Q8_0:
        write_q8_0(src, to);
        break;
    case GI_GGML_TYPE_Q4_0:
    case GI_GGML_TYPE_Q5_0:
        write_signed(src, type == GI_GGML_TYPE_Q5_0, to);
        break;
    default:
        write_from_minimum(src, type == GI_GGML_TYPE_Q5_1, to);
        break;
    }
}

bool gi_quant_can_quantize(enum gi_ggml_type type)
{
    switch ((uint32_t)type) {
    case GI_GGML_TYPE_F32:
    case GI_GGML_TYPE_F16:
    case GI_GGML_TYPE_BF16:
    case GI_GGML_TYPE_Q4_0:
    case GI_GGML_TYPE_Q4_1:
    case GI_GGML_TYPE_Q5_0:
    case GI_GGML_TYPE_Q5_1:
    case GI_GGML_TYPE_Q8_0:
        return true;
    default:
        return false;
    }
}

void gi_quant_quantize_row(enum gi_ggml_type type, const float *src, size_t n, void *dst)
{
    const uint32_t block_bytes = gi_ggml_type_find(type)->block_bytes;
    uint8_t *to = dst;
    assert(gi_quant_can_quantize(type));
    if (type == GI_GGML_TYPE_F32) {
        memcpy(dst, src, n * sizeof(*src));
    } else if (type == GI_GGML_TYPE_F16 || type == GI_GGML_TYPE_BF16) {
        for (size_t i = 0; i < n; i++) {
            to = store_u16(to,
                           type == GI_GGML_TYPE_F16 ? gi_float_to_half(src[i]) : to_bf16(src[i]));
        }
    } else {
        for (size_t i = 0; i < n; i += BLOCK, to += block_bytes) {
            write_block(type, src + i, to);
        }
    }
}
