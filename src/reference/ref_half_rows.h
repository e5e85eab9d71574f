// Rows in f16 as products read them: tiles (glsl/gemm/half_rows.glsl) or packed rows
// (glsl/gemm/packed_rows.glsl).
#ifndef GI_REF_HALF_ROWS_H
#define GI_REF_HALF_ROWS_H

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
// Lists a column of a token's row.
void gi_ref_half_expect(struct gi_ref *ref, const char *what, const struct gi_ref_half_rows *rows,
                        uint32_t token, uint32_t column, struct gi_ref_value expected,
                        double slack);

#endif
