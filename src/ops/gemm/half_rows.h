// Rows of activations in f16, in tiles with scales (glsl/gemm/half_rows.glsl): the input of
// glsl/gemm/gemm_half.comp. They use the same memory as rows in f32 would.
#pragma once

#include "ops/record/recorder.h"

// Columns of a tile, which share a scale in each row.
#define GI_HALF_COLUMNS 64

// The layout of rows, which depends on their room: tiles of 8 tokens for at most GI_SMALL_BATCH
// tokens, else tiles of 128. The define HALF of kernels that write rows has the same numbers.
enum gi_half_form {
    GI_HALF_FORM_NONE, // f32
    GI_HALF_FORM_LARGE,
    GI_HALF_FORM_SMALL,
};
#define GI_SMALL_BATCH 32
enum gi_half_form gi_half_form(const struct gi_rows *rows);

// Returns the bytes of n_tokens rows of a width in GI_HALF_FORM_LARGE.
uint64_t gi_half_rows_size(uint32_t n_tokens, uint32_t width);

// Returns the tiles of a row.
uint32_t gi_half_row_tiles(uint32_t width);

// Returns rows for an input of products: in f16 if the recorder allows f16, the device's form of a
// prompt supports it and the range has room (tiles need slightly more than f32 rows for 64, 65 and
// 129 to 131 tokens, and for fewer than 5 or 9 tokens of a small batch); else rows unchanged.
struct gi_rows gi_half_rows(const struct gi_recorder *recorder, const struct gi_rows *rows);

// y[m] = x[m], width columns, a multiple of 4; x is in f32, y in f16.
void gi_op_half_rows(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                     uint32_t width, const struct gi_rows *y);
