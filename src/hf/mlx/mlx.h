// Weights that MLX quantised: their modes, and rows of them as blocks of weight types or as floats.
// Knows nothing of folders.
//   https://github.com/ml-explore/mlx (python/src/ops.cpp, quantize)
//
// A row lies in memory as a record of its parts in the file, one after another:
//
//   quants   n_cols * bits / 8 bytes: element j is bits j * bits on of them, the lowest first
//   scales   one for each group of elements
//   biases   as many and of the same type, in the mode affine
//
//   affine   2, 3, 4, 5, 6 or 8 bits, groups of 32, 64 or 128: scale * quant + bias
//   mxfp4    E2M1, groups of 32, scales in E8M0
//   nvfp4    E2M1, groups of 16, scales in E4M3, perhaps a factor of the whole tensor
//   mxfp8    E4M3, groups of 32, scales in E8M0
#pragma once

#include "gguf/ggml_type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gi_mlx_mode { GI_MLX_AFFINE, GI_MLX_MXFP4, GI_MLX_NVFP4, GI_MLX_MXFP8 };

enum gi_mlx_scale { GI_MLX_SCALE_U8, GI_MLX_SCALE_F16, GI_MLX_SCALE_BF16, GI_MLX_SCALE_F32 };

struct gi_mlx_format {
    enum gi_mlx_mode mode;
    uint32_t bits, group;    // of a quant; elements that share a scale
    enum gi_mlx_scale scale; // of scales and biases: U8 in all modes but affine
    float factor;            // of nvfp4: multiplies all weights; 1: none
};

// Returns "affine" and the like.
const char *gi_mlx_mode_name(enum gi_mlx_mode mode);
// Sets mode by its name; returns false for an unknown one.
bool gi_mlx_mode_find(const char *name, enum gi_mlx_mode *mode);
// Returns true if MLX has the bits and the group in the mode.
bool gi_mlx_is_known(const struct gi_mlx_format *format);

// Return the bytes of the parts of a row. n_cols is a multiple of the group.
uint64_t gi_mlx_quants_size(const struct gi_mlx_format *format, uint64_t n_cols);
uint64_t gi_mlx_scales_size(const struct gi_mlx_format *format, uint64_t n_cols); // and of biases
uint64_t gi_mlx_row_size(const struct gi_mlx_format *format, uint64_t n_cols);    // of all

// Returns the smallest type whose blocks have these weights as they are, up to the rounding of
// scales and biases to f16: q4_1, q5_1, q8_m, mxfp4 or nvfp4. Rows are a multiple of its block.
// Returns F32 for formats without such a type: nvfp4 with a factor, mxfp8.
enum gi_ggml_type gi_mlx_type(const struct gi_mlx_format *format);

// Write a row of n_cols elements, as floats and as blocks. type is the result of gi_mlx_type;
// affine weights of at most five bits may also become q5_1, all of them q8_m. A scale beyond the
// range of f16 becomes infinite, which gi_quant_is_finite finds; a scale below 2^-17 loses bits.
void gi_mlx_dequantize_row(const struct gi_mlx_format *format, const uint8_t *row, size_t n_cols,
                           float *out);
void gi_mlx_convert_row(const struct gi_mlx_format *format, const uint8_t *row, size_t n_cols,
                        enum gi_ggml_type type, uint8_t *out);
