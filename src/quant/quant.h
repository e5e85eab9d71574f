// Weight types that glinfer computes with: dequantise (for tests and rows on the CPU) and repack
// from the file's layout into the GPU's. One file per type; gguf/ggml_type.h has their table. Plain
// C, no GL.
//
// GPU layout, shared by all types and by glsl/quant/quant.glsl. Rows come in tiles of GI_TILE_ROWS
// = 8, columns in blocks of GI_QUANT_BLOCK = 32 (n_cols is rounded up, the rest is zero weights),
// and blocks in groups, which share quads or scale words:
//
//   quads   uvec4 [n_tile][ceil(n_block / quad_blocks)][n_quad][8 rows]
//   scales  uint  [n_tile][ceil(n_block / scale_blocks)][scale_words][8 rows]
//
// Neighbouring invocations own neighbouring rows. A quad is 16 bytes, mostly of quants.
// Quads and scales lie in ranges of their own; a table that all rows share, if the type has one,
// precedes the scales.
//
// The table of iq1, iq2 and iq3 is their grid. Files of types say how many quads and scale words
// they have, the unpackers in glsl/quant what lies where in them.
//
// Within a block the elements are in natural order in words of the quad: f32 one, f16 two (low half
// first), q8_0 four (low byte first). Smaller quants lie in planes, from which a mask takes the
// four elements 4 k .. 4 k + 3 at once, each 4 bits above the one before (glsl/quant/planes.glsl):
//
//   nibbles  4 words   element 4 k + i in word k / 2, bit 4 i + 16 (k % 2): natural order
//   pairs    2 words   two bits: word k / 4, bit 4 i + 2 (k % 2) + 16 (k / 2 % 2)
//   bits     1 word    bit 4 i + k % 4 + 16 (k / 4)
#pragma once

#include "gguf/ggml_type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GI_TILE_ROWS   8u
#define GI_QUANT_BLOCK 32u

struct gi_quant {
    uint32_t type;         // enum gi_ggml_type
    uint32_t quad_blocks;  // blocks of 32 that share quads
    uint32_t n_quad;       // uvec4 a row and group of quad_blocks
    uint32_t scale_blocks; // blocks of 32 that share scale words; 0: the type has no scales
    uint32_t scale_words;  // uints a row and group of scale_blocks
    uint32_t factor_word;  // scale word of a group that is a float by which weights are multiplied,
                           // which gi_quant_set_factor sets; 0: the type has none
    const uint32_t *table; // words before the scales; NULL: none
    uint32_t table_words;
    bool has_f16;    // the unpacker takes products in f16 (glsl/quant/half_dot.glsl)
    bool has_eights; // the unpacker gives eight weights at a time (QUANT_SPLIT of quant.glsl)
    bool has_fours;  // and four blocks at a time (QUANT_FOUR)
    bool is_wide;    // the unpacker keeps two planes of a block, and two scales of 16 weights
    bool has_words;  // the unpacker gives weights in pairs of halves (QUANT_WORDS of quant.glsl)
    // Dequantises the 32 elements of a part of one of the type's own blocks, which has one part,
    // two, four or eight; the only element of a block of one.
    void (*dequantize)(const uint8_t *block, size_t part, float *dst);
    // Repacks the n elements of one row at src into quads and scale words, one after another. n is
    // at most the size of the larger group, and less at the end of a row. Both outputs are zero
    // before.
    void (*repack_group)(const uint8_t *src, size_t n, uint32_t (*quads)[4], uint32_t *words);
};

// Returns the entry of a type, NULL if glinfer has no kernels for it.
const struct gi_quant *gi_quant_find(uint32_t type);
// Returns "f32, f16, q4_0, ...", all that gi_quant_find knows, for messages.
const char *gi_quant_names(void);

// Dequantises n_cols elements of one row; n_cols is a multiple of the type's own block.
void gi_quant_dequantize_row(const struct gi_quant *quant, const void *src, size_t n_cols,
                             float *dst);

// Returns false if a row has a weight that is infinite or no number, as far as scales tell, or
// weights of a type without. Reads no more of a row than that.
bool gi_quant_is_finite(const struct gi_quant *quant, const void *src, size_t n_cols);

// Return the bytes on the GPU of n_rows (rounded up to whole tiles) by n_cols; of the scales
// without the table.
uint64_t gi_quant_quads_size(const struct gi_quant *quant, uint64_t n_rows, uint64_t n_cols);
uint64_t gi_quant_scales_size(const struct gi_quant *quant, uint64_t n_rows, uint64_t n_cols);

// Repacks one tile. rows[i] is the file's row for GPU row i, NULL for a row of zeros.
//   quads   gi_quant_quads_size(quant, 8, n_cols) bytes
//   scales  gi_quant_scales_size(quant, 8, n_cols) bytes; may be NULL if there are none
// Leaves factors at 0.
void gi_quant_repack_tile(const struct gi_quant *quant, const void *const rows[GI_TILE_ROWS],
                          size_t n_cols, uint32_t *quads, uint32_t *scales);

// Sets the factor of all weights of a row of a repacked tile, of a type with factor_word.
void gi_quant_set_factor(const struct gi_quant *quant, size_t row, size_t n_cols, float factor,
                         uint32_t *scales);

float gi_half_to_float(uint16_t half);
float gi_bf16_to_float(uint16_t value);
// Rounds to the nearest, ties to even.
uint16_t gi_float_to_half(float value);

// Returns true for types that gi_quant_quantize_row writes: f32, f16, bf16, q4_0, q4_1, q5_0, q5_1
// and q8_0.
bool gi_quant_can_quantize(enum gi_ggml_type type);
// Writes n elements, whole blocks of the type, as a file has them. gi_quant_is_finite finds
// infinite values and NaN in the result.
void gi_quant_quantize_row(enum gi_ggml_type type, const float *src, size_t n, void *dst);
