// Reads and writes the rows of tokens in a self-test: f32 with a stride, tiles of f16
// (ops/gemm/half_rows.h), or packed (ops/gemm/pack_rows.h). Used by the checks only.
#ifndef GI_TEST_ROWS_H
#define GI_TEST_ROWS_H

#include "engine/selftest/test_case.h"

// Reads columns [0, width) of a token's row at a binding: floats with a stride or, if is_half,
// tiles of ops/gemm/half_rows.h, n_tile per row. Returns NULL with has_failed.
float *gi_test_row(struct gi_test *test, uint32_t binding, bool is_half, uint32_t token,
                   uint32_t stride, uint32_t width, uint32_t n_tile);
// Reads columns [0, width) of a token's f16 row, of rows that begin at a word of the binding.
float *gi_test_half_row(struct gi_test *test, uint32_t binding, uint64_t begin, uint32_t token,
                        uint32_t width, uint32_t n_tile);

// Returns true for the program that packs rows (ops/gemm/pack_rows.h) and those that read them.
bool gi_test_is_packed(const struct gi_program_key *key);
// Returns true for products of small batches that read f16 rows.
bool gi_test_is_small_half(const struct gi_program_key *key);
// Reads columns [0, width) of a token's packed row. Returns NULL with has_failed.
float *gi_test_packed_row(struct gi_test *test, uint32_t binding, uint32_t token, uint32_t stride,
                          uint32_t width);
// Writes rows of all tokens, packed or f32. Needed since only the first entry of each program runs:
// the entry's own rows may not be packed yet, and packed rows read as f32 may be infinite.
void gi_test_fill_rows(struct gi_test *test, uint32_t binding, bool is_packed, uint32_t stride,
                       uint32_t width, uint32_t seed);

#endif
