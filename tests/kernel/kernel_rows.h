// Rows of a batch and a step's stream in tests: what the cases of embedding, of single rows and of gemm share.
#ifndef KERNEL_ROWS_H
#define KERNEL_ROWS_H

#include "kernel_test.h"
#include "ops/batch.h"

// n rounded up to a multiple of 32.
uint32_t kt_pad32(uint32_t n);
// Rows of random values in [-1, 1), their padding too; values NULL: of NaN.
struct gi_rows kt_rows(struct kt_run *run, const char *label, float *values, uint32_t n_tokens,
                       uint32_t stride);
// Vectors (gamma, then a table of rotations) of n floats.
struct gi_vectors kt_vectors(struct kt_run *run, const float *values, size_t n, uint32_t rope);
// Compares n values of each row, from column begin on.
bool kt_compare_rows(struct kt_run *run, const char *what, const struct gi_rows *rows,
                     uint32_t n_tokens, uint32_t begin, uint32_t n, const double *want,
                     const double *bound);
// The residual (NULL: of no interest), the norm and the sum of squares of a stream, the first two within so many
// roundings.
bool kt_check_stream(struct kt_run *run, const struct gi_stream *stream, const double *residual,
                     const double *norm, double ssq, double roundings);

#endif
