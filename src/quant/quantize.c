// Quantises rows of floats to types whose blocks have one scale, and at most one minimum. Rounds to
// the nearest as ggml's reference quantisers do, whose bytes these are.
//   ggml, src/ggml-quants.c, quantize_row_*_ref
#include "base/bytes.h"
#include "quant/quant.h"

#include <assert.h>
#include <math.h>

enum { BLOCK = 32 };
#define INFINITE 0x7F800000u // the bits of an infinity

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

// Loops over lanes are not sums in the eyes of a compiler, which may not reorder sums of floats.
enum { LANES = 8 };

static uint32_t magnitude_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits & 0x7FFFFFFFu;
}

// Returns the bits of the largest magnitude; INFINITE or more if a value is not finite.
static uint32_t find_magnitude(const float *src)
{
    int32_t lanes[LANES] = {0}, most = 0;
    for (int i = 0; i < BLOCK; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            const int32_t magnitude = (int32_t)magnitude_of(src[i + j]);
            lanes[j] = magnitude > lanes[j] ? magnitude : lanes[j];
        }
    }
    for (int j = 0; j < LANES; j++) {
        most = lanes[j] > most ? lanes[j] : most;
    }
    return (uint32_t)most;
}

// Returns the first value of a magnitude.
static float find_extreme(const float *src, uint32_t magnitude)
{
    int i = 0;
    while (i < BLOCK - 1 && magnitude_of(src[i]) != magnitude) {
        i++;
    }
    return src[i];
}

static float inverse(float d)
{
    return d != 0.0f ? 1.0f / d : 0.0f;
}

static void write_q8_0(const float *src, uint32_t magnitude, uint8_t *to)
{
    float largest;
    memcpy(&largest, &magnitude, sizeof(largest));
    const float d = largest / 127.0f, id = inverse(d);
    to = store_u16(to, gi_float_to_half(d));
    if (isinf(id)) { // d is too small to divide by
        for (int i = 0; i < BLOCK; i++) {
            to[i] = (uint8_t)(int8_t)(src[i] < 0.0f ? -127 : src[i] > 0.0f ? 127 : 0);
        }
        return;
    }
    for (int i = 0; i < BLOCK; i++) {
        const float q = src[i] * id;
        // The number below 1/2: with 1/2 itself, the number below it would round up.
        to[i] = (uint8_t)(int8_t)(int32_t)(q + (q < 0.0f ? -0.49999997f : 0.49999997f));
    }
}

// Writes quants of 4 bits, or of 5 whose upper bits lie before the others.
static void write_quants(const uint8_t q[BLOCK], bool is_five, uint8_t *to)
{
    if (is_five) {
        for (int i = 0; i < 4; i++, to++) { // gathers the lowest bits of eight bytes
            const uint64_t upper = gi_load_u64(q + 8 * i) >> 4 & 0x0101010101010101u;
            *to = (uint8_t)(upper * 0x0102040810204080u >> 56);
        }
    }
    for (int i = 0; i < BLOCK / 2; i++) {
        to[i] = (uint8_t)((q[i] & 15) | q[i + BLOCK / 2] << 4);
    }
}

// Writes (src - low) * id + add, cut to 0 to most.
static void make_quants(const float *src, float low, float id, float add, float most,
                        uint8_t q[BLOCK])
{
    for (int i = 0; i < BLOCK; i++) {
        float value = (src[i] - low) * id + add;
        value = value > 0.0f ? value : 0.0f; // NaN becomes 0, too
        value = value < most ? value : most;
        q[i] = (uint8_t)(int32_t)value;
    }
}

// Writes a block whose quants are signed, in steps of d around zero.
static void write_signed(const float *src, uint32_t magnitude, bool is_five, uint8_t *to)
{
    const float middle = is_five ? 16.0f : 8.0f;
    const float d = find_extreme(src, magnitude) / -middle, id = inverse(d);
    uint8_t q[BLOCK];
    make_quants(src, 0.0f, id, middle + 0.5f, 2.0f * middle - 1.0f, q);
    write_quants(q, is_five, store_u16(to, gi_float_to_half(d)));
}

// Writes a block whose quants are steps of d from the minimum.
static void write_from_minimum(const float *src, bool is_five, uint8_t *to)
{
    const float most = is_five ? 31.0f : 15.0f;
    float lows[LANES], highs[LANES];
    uint8_t q[BLOCK];
    memcpy(lows, src, sizeof(lows));
    memcpy(highs, src, sizeof(highs));
    for (int i = LANES; i < BLOCK; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            lows[j] = src[i + j] < lows[j] ? src[i + j] : lows[j];
            highs[j] = src[i + j] > highs[j] ? src[i + j] : highs[j];
        }
    }
    float low = lows[0], high = highs[0];
    for (int j = 1; j < LANES; j++) {
        low = lows[j] < low ? lows[j] : low;
        high = highs[j] > high ? highs[j] : high;
    }
    const float d = (high - low) / most;
    make_quants(src, low, inverse(d), 0.5f, most, q);
    to = store_u16(to, gi_float_to_half(d));
    write_quants(q, is_five, store_u16(to, gi_float_to_half(low)));
}

// Marks a block with a value that is not finite by its scale, which readers check.
static void write_block(enum gi_ggml_type type, const float *src, uint8_t *to)
{
    const uint32_t magnitude = find_magnitude(src);
    if (magnitude >= INFINITE) {
        memset(to, 0, gi_ggml_type_find(type)->block_bytes);
        store_u16(to, gi_float_to_half(NAN));
        return;
    }
    switch ((uint32_t)type) {
    case GI_GGML_TYPE_Q8_0:
        write_q8_0(src, magnitude, to);
        break;
    case GI_GGML_TYPE_Q4_0:
    case GI_GGML_TYPE_Q5_0:
        write_signed(src, magnitude, type == GI_GGML_TYPE_Q5_0, to);
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
