// Rows of activations in f16, in tiles with scales (glsl/gemm/half_rows.glsl): what
// glsl/gemm/gemm_half.comp reads. They lie where rows in f32 would.
#ifndef GI_OPS_HALF_ROWS_H
#define GI_OPS_HALF_ROWS_H

#include "ops/record/recorder.h"

// Columns of a tile: they share a scale in a row.
#define GI_HALF_COLUMNS 64

// The layout of rows by their room: of at most GI_SMALL_BATCH tokens in tiles of 8, of more in
// tiles of 128. It is also the define HALF of the kernels that write rows.
enum gi_half_form {
    GI_HALF_FORM_NONE, // f32
    GI_HALF_FORM_LARGE,
    GI_HALF_FORM_SMALL,
};
#define GI_SMALL_BATCH 32
enum gi_half_form gi_half_form(const struct gi_rows *rows);

// Bytes that n_tokens rows of a width take in GI_HALF_FORM_LARGE.
uint64_t gi_half_rows_size(uint32_t n_tokens, uint32_t width);

// Tiles of a row.
uint32_t gi_half_row_tiles(uint32_t width);

// rows for an input of products: in f16 where the recorder takes those, the device's form of a
// prompt has them and the range has room for as many tokens (a little more than f32 rows have for
// 64, 65 and 129 to 131 of them, and for fewer than 5 or 9 of few); else as they are.
struct gi_rows gi_half_rows(const struct gi_recorder *recorder, const struct gi_rows *rows);

// y[m] = x[m], width columns, a multiple of 4; x is in f32, y in f16.
void gi_op_half_rows(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                     uint32_t width, const struct gi_rows *y);

#endif
