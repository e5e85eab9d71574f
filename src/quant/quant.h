// Weight types that glinfer computes with: dequantise (for tests and rows on the CPU) and repack
// from the file's layout into the GPU's. One file per type; this header is the table. Plain C, no
// GL.
//
// GPU layout, shared by all types and by glsl/lib/quant.glsl. Rows come in tiles of GI_TILE_ROWS =
// 8, columns in blocks of GI_QUANT_BLOCK = 32 (n_cols is rounded up, the rest is zero weights):
//
//   quads   uvec4 [n_tile][n_block][n_quad][8 rows]      16-byte words of quants; neighbouring
//                                                         invocations own neighbouring rows
//   scales  uint  [n_tile][n_scale][8 rows]               apart; n_scale = ceil(n_block /
//   scale_blocks)
//                                                         * scale_words
//
//   type   n_quad  scale word
//   f32    8       none
//   f16    4       none
//   q8_0   2       f16 d of two blocks, the even one low
//   q4_0   1       f16 d of two blocks, the even one low
//   q4_1   1       f16 d low, f16 m high, of one block
//
// Within a block the elements are in natural order in words of the quad: f32 one, f16 two (low half
// first), q8_0 four (low byte first), and q4 eight: bits 4i..4i+3 of word w hold element 8 w + i.
#ifndef GI_QUANT_QUANT_H
#define GI_QUANT_QUANT_H

#include "gguf/ggml_type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GI_TILE_ROWS   8u
#define GI_QUANT_BLOCK 32u

struct gi_quant {
    uint32_t type;         // enum gi_ggml_type
    uint32_t n_quad;       // uvec4 a row and block of 32
    uint32_t scale_blocks; // blocks of 32 that share scale words; 0: the type has no scales
    uint32_t scale_words;  // uints a row and group of scale_blocks
    // n_cols elements of one row; n_cols is a multiple of the type's own block.
    void (*dequantize_row)(const void *src, size_t n_cols, float *dst);
    // One tile. rows[i] is the file's row for GPU row i, NULL for a row of zeros.
    // quads: gi_quant_quads_size(q, 8, n_cols) bytes; scales: gi_quant_scales_size(...) bytes.
    void (*repack_tile)(const void *const rows[GI_TILE_ROWS], size_t n_cols, uint32_t *quads,
                        uint32_t *scales);
};

// Returns the entry of a type, NULL if glinfer has no kernels for it.
const struct gi_quant *gi_quant_find(uint32_t type);
// "f32, f16, q4_0, ...": what gi_quant_find knows, for messages.
const char *gi_quant_names(void);

// Bytes on the GPU of n_rows (rounded up to whole tiles) by n_cols.
uint64_t gi_quant_quads_size(const struct gi_quant *quant, uint64_t n_rows, uint64_t n_cols);
uint64_t gi_quant_scales_size(const struct gi_quant *quant, uint64_t n_rows, uint64_t n_cols);

float gi_half_to_float(uint16_t half);
uint16_t gi_float_to_half(float value); // round to nearest even

#endif
