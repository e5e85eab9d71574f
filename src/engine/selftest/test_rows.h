// Rows of tokens in a self-test: f32 with a stride, in tiles of f16 (ops/gemm/half_rows.h), and
// packed (ops/gemm/pack_rows.h). For the checks alone.
#ifndef GI_TEST_ROWS_H
#define GI_TEST_ROWS_H

#include "engine/selftest/test_case.h"

// Reads columns [0, width) of a token's row at a binding: floats with a stride, or with is_half
// rows as ops/gemm/half_rows.h has them, n_tile tiles each. NULL with has_failed.
float *gi_test_row(struct gi_test *test, uint32_t binding, bool is_half, uint32_t token,
                   uint32_t stride, uint32_t width, uint32_t n_tile);
// The same of rows in f16 that begin at a word of the binding.
float *gi_test_half_row(struct gi_test *test, uint32_t binding, uint64_t begin, uint32_t token,
                        uint32_t width, uint32_t n_tile);

// True for the program that packs rows (ops/gemm/pack_rows.h) and for those that read them.
bool gi_test_is_packed(const struct gi_program_key *key);
// True for products of few tokens that read rows in f16.
bool gi_test_is_small_half(const struct gi_program_key *key);
// Reads columns [0, width) of a token's packed row. NULL with has_failed.
float *gi_test_packed_row(struct gi_test *test, uint32_t binding, uint32_t token, uint32_t stride,
                          uint32_t width);
// Writes rows of all tokens, packed or f32. An entry's own may not have been packed, since only the
// first entry of each program runs; packed rows that stay behind may be infinite to one that reads
// f32.
void gi_test_fill_rows(struct gi_test *test, uint32_t binding, bool is_packed, uint32_t stride,
                       uint32_t width, uint32_t seed);
// Writes all tokens' rows in f16: width values between 0.5 and 1 of either sign, which differ by
// the seed, and zeros after them.
void gi_test_fill_half_rows(struct gi_test *test, uint32_t binding, uint32_t width, uint32_t seed);

#endif
