// Rows in f16 as products read them: tiles (glsl/gemm/half_rows.glsl) or packed rows
// (glsl/gemm/packed_rows.glsl).
#pragma once

#include "reference/reference.h"

struct gi_ref_half_rows {
    uint32_t binding;
    uint64_t begin;  // word of the first tile
    uint32_t n_tile; // of a row
    bool is_small;   // tiles of 8 tokens, not of 128
};

// Returns true if the program writes or reads tiles of small batches.
bool gi_ref_is_small_half(const struct gi_program_key *key);
// Reads columns [0, width) of a token's row. Returns NULL with has_failed.
const float *gi_ref_half_row(struct gi_ref *ref, const struct gi_ref_half_rows *rows,
                             uint32_t token, uint32_t width);
// Writes rows of halves with magnitudes from 0.5 to 1 up to a column, then zeros.
void gi_ref_half_fill(struct gi_ref *ref, const struct gi_ref_half_rows *rows, uint32_t n_token,
                      uint32_t width);
// Reads columns [0, width) of a packed row from word `at` on. Returns NULL with has_failed.
const float *gi_ref_packed_row(struct gi_ref *ref, uint32_t binding, uint64_t at, uint32_t width);

// The form of the rows of activations at binding 0: f32 from word `begin` on, or tiles of f16.
struct gi_ref_rows_form {
    uint32_t half; // enum gi_half_form
    uint64_t begin, stride;
    uint32_t n_tile; // of a row in f16
};
// Returns the number of rows for which the binding has room.
uint32_t gi_ref_rows_room(const struct gi_ref *ref, const struct gi_ref_rows_form *form);
// Returns the row to work out after row i of n. In tiles a sampled reference works out three.
uint32_t gi_ref_next_row(const struct gi_ref *ref, const struct gi_ref_rows_form *form, uint32_t i,
                         uint32_t n, uint64_t n_value);
// Lists n columns of a row from `column` on, in f16 a multiple of 64; up to the end of a tile of
// f16 the columns after them are zero.
void gi_ref_expect_row(struct gi_ref *ref, const char *what, const struct gi_ref_rows_form *form,
                       uint32_t row, uint32_t column, const struct gi_ref_value *values,
                       uint32_t n);
// Lists a row of n columns packed from word `begin` of binding 0 on.
void gi_ref_expect_packed(struct gi_ref *ref, uint64_t begin, const struct gi_ref_value *values,
                          uint32_t n);
