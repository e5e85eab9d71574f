#include "hf/mlx/mlx.h"

#include "base/bytes.h"
#include "quant/quant.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32, NVFP4_BLOCK = 64 };

//-- formats ---------------------------------------------------------------------------------------

static const struct mode_row {
    const char *name;
    uint32_t bits, groups; // sets of them: bit i of bits for i, of groups for 2^i
} modes[] = {
    [GI_MLX_AFFINE] = {"affine", 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8,
                       1 << 5 | 1 << 6 | 1 << 7},
    [GI_MLX_MXFP4] = {"mxfp4", 1 << 4, 1 << 5},
    [GI_MLX_NVFP4] = {"nvfp4", 1 << 4, 1 << 4},
    [GI_MLX_MXFP8] = {"mxfp8", 1 << 8, 1 << 5},
};

const char *gi_mlx_mode_name(enum gi_mlx_mode mode)
{
    return modes[mode].name;
}

bool gi_mlx_mode_find(const char *name, enum gi_mlx_mode *mode)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, name) == 0) {
            *mode = (enum gi_mlx_mode)i;
            return true;
        }
    }
    return false;
}

bool gi_mlx_is_known(const struct gi_mlx_format *format)
{
    const struct mode_row *mode = &modes[format->mode];
    const uint32_t group = format->group;
    return format->bits <= 8 && (mode->bits >> format->bits & 1) != 0 && group <= 128 &&
           (group & (group - 1)) == 0 && (mode->groups & group) != 0 &&
           (format->scale == GI_MLX_SCALE_U8) == (format->mode != GI_MLX_AFFINE);
}

static size_t scale_bytes(const struct gi_mlx_format *format)
{
    return format->scale == GI_MLX_SCALE_U8 ? 1 : format->scale == GI_MLX_SCALE_F32 ? 4 : 2;
}

uint64_t gi_mlx_quants_size(const struct gi_mlx_format *format, uint64_t n_cols)
{
    return n_cols / 8 * format->bits;
}

uint64_t gi_mlx_scales_size(const struct gi_mlx_format *format, uint64_t n_cols)
{
    return n_cols / format->group * scale_bytes(format);
}

uint64_t gi_mlx_row_size(const struct gi_mlx_format *format, uint64_t n_cols)
{
    return gi_mlx_quants_size(format, n_cols) +
           (format->mode == GI_MLX_AFFINE ? 2 : 1) * gi_mlx_scales_size(format, n_cols);
}

enum gi_ggml_type gi_mlx_type(const struct gi_mlx_format *format)
{
    switch (format->mode) {
    case GI_MLX_AFFINE:
        return format->bits <= 4   ? GI_GGML_TYPE_Q4_1
               : format->bits == 5 ? GI_GGML_TYPE_Q5_1
                                   : GI_GGML_TYPE_Q8_M;
    case GI_MLX_MXFP4:
        return GI_GGML_TYPE_MXFP4;
    case GI_MLX_NVFP4:
        return format->factor == 1.0f ? GI_GGML_TYPE_NVFP4 : GI_GGML_TYPE_F32;
    case GI_MLX_MXFP8:
        break;
    }
    return GI_GGML_TYPE_F32;
}

//-- parts of a row --------------------------------------------------------------------------------

// Reads 32 quants from bits * 4 bytes.
static void read_quants(const uint8_t *from, uint32_t bits, uint8_t q[BLOCK])
{
    const unsigned mask = (1u << bits) - 1;
    for (size_t i = 0; i < BLOCK; i += 8, from += bits) {
        uint64_t eight = 0;
        for (uint32_t k = 0; k < bits; k++) {
            eight |= (uint64_t)from[k] << 8 * k;
        }
        for (size_t k = 0; k < 8; k++) {
            q[i + k] = (uint8_t)(eight >> bits * k & mask);
        }
    }
}

// Returns a scale or bias.
static float read_scale(const struct gi_mlx_format *format, const uint8_t *scales, size_t i)
{
    switch (format->scale) {
    case GI_MLX_SCALE_F16:
        return gi_half_to_float(gi_load_u16(scales + 2 * i));
    case GI_MLX_SCALE_F32:
        return gi_load_f32(scales + 4 * i);
    default:
        return gi_bf16_to_float(gi_load_u16(scales + 2 * i));
    }
}

static float read_e4m3(uint8_t bits)
{
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    const float magnitude = (bits & 0x7F) == 0x7F ? NAN
                            : exponent            ? ldexpf((float)(8 + mantissa), exponent - 10)
                                                  : ldexpf((float)mantissa, -9);
    return bits & 0x80 ? -magnitude : magnitude;
}

static float read_e2m1(uint8_t bits)
{
    static const float values[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    return bits & 8 ? -values[bits & 7] : values[bits & 7];
}

//-- floats ----------------------------------------------------------------------------------------

// Returns the scale of a mode without biases.
static float read_float_scale(const struct gi_mlx_format *format, uint8_t bits)
{
    return format->mode == GI_MLX_NVFP4 ? read_e4m3(bits) * format->factor : ldexpf(1, bits - 127);
}

void gi_mlx_dequantize_row(const struct gi_mlx_format *format, const uint8_t *row, size_t n_cols,
                           float *out)
{
    const uint8_t *scales = row + gi_mlx_quants_size(format, n_cols);
    const uint8_t *biases = scales + gi_mlx_scales_size(format, n_cols);
    uint8_t q[BLOCK];
    for (size_t i = 0; i < n_cols; i++) {
        const size_t group = i / format->group;
        if (i % BLOCK == 0) {
            read_quants(row + i / 8 * format->bits, format->bits, q);
        }
        if (format->mode == GI_MLX_AFFINE) {
            out[i] = read_scale(format, scales, group) * (float)q[i % BLOCK] +
                     read_scale(format, biases, group);
        } else {
            const uint8_t bits = q[i % BLOCK];
            out[i] = read_float_scale(format, scales[group]) *
                     (format->mode == GI_MLX_MXFP8 ? read_e4m3(bits) : read_e2m1(bits));
        }
    }
}

//-- blocks ----------------------------------------------------------------------------------------

// Reorders the nibbles of 2 * half bytes as the types have them: the first half of the elements in
// the low nibbles, the second half in the high ones.
static void write_nibbles(const uint8_t *from, size_t half, uint8_t *to)
{
    for (size_t i = 0; i < half; i++) {
        to[2 * i] = (uint8_t)((from[i] & 15) | from[half + i] << 4);
        to[2 * i + 1] = (uint8_t)(from[i] >> 4 | (from[half + i] & 0xF0));
    }
}

static void store_u16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

// Writes the quants of a block of q4_1, q5_1 or q8_m.
static void write_quants(const struct gi_mlx_format *format, const uint8_t *from,
                         enum gi_ggml_type type, uint8_t *to)
{
    uint8_t q[BLOCK];
    if (format->bits == 4 && type == GI_GGML_TYPE_Q4_1) {
        write_nibbles(from, 8, to);
        return;
    }
    read_quants(from, format->bits, q);
    if (type == GI_GGML_TYPE_Q8_M) {
        memcpy(to, q, sizeof(q));
        return;
    }
    if (type == GI_GGML_TYPE_Q5_1) {
        uint32_t upper = 0;
        for (size_t i = 0; i < BLOCK; i++) {
            upper |= (uint32_t)(q[i] >> 4) << i;
        }
        gi_store_u32(to, upper);
        to += 4;
    }
    for (size_t i = 0; i < BLOCK / 2; i++) {
        to[i] = (uint8_t)((q[i] & 15) | (q[i + BLOCK / 2] & 15) << 4);
    }
}

static void convert_affine(const struct gi_mlx_format *format, const uint8_t *row, size_t n_cols,
                           enum gi_ggml_type type, uint8_t *out)
{
    const size_t block_bytes = gi_ggml_type_find(type)->block_bytes;
    const uint8_t *scales = row + gi_mlx_quants_size(format, n_cols);
    const uint8_t *biases = scales + gi_mlx_scales_size(format, n_cols);
    uint16_t d = 0, m = 0;
    for (size_t i = 0; i < n_cols; i += BLOCK, out += block_bytes) {
        if (i % format->group == 0) {
            d = gi_float_to_half(read_scale(format, scales, i / format->group));
            m = gi_float_to_half(read_scale(format, biases, i / format->group));
        }
        store_u16(out, d);
        store_u16(out + 2, m);
        write_quants(format, row + i / 8 * format->bits, type, out + 4);
    }
}

void gi_mlx_convert_row(const struct gi_mlx_format *format, const uint8_t *row, size_t n_cols,
                        enum gi_ggml_type type, uint8_t *out)
{
    const uint8_t *scales = row + gi_mlx_quants_size(format, n_cols);
    if (format->mode == GI_MLX_AFFINE) {
        convert_affine(format, row, n_cols, type, out);
        return;
    }
    for (size_t i = 0; i < n_cols && type == GI_GGML_TYPE_MXFP4; i += BLOCK, out += 17) {
        out[0] = scales[i / BLOCK];
        write_nibbles(row + i / 2, 8, out + 1);
    }
    for (size_t i = 0; i < n_cols && type == GI_GGML_TYPE_NVFP4; i += NVFP4_BLOCK, out += 36) {
        memcpy(out, scales + i / 16, 4);
        for (size_t k = 0; k < 4; k++) { // eight bytes for each scale
            write_nibbles(row + i / 2 + 8 * k, 4, out + 4 + 8 * k);
        }
    }
}
